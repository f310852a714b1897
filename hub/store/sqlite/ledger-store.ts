/** The ledger's part of the embedded store: changes through the writer, everything else from the reader. */
import { booksAgree } from '../books.ts'
import type { LedgerStore } from '../ledger-port.ts'
import type { Database } from './database.ts'
import * as ledger from './ledger-reads.ts'
import type { WriterClient } from './writer-client.ts'

export function ledgerOver(reader: Database, writer: WriterClient): LedgerStore {
  return {
    post: posting => writer.write('post', posting),
    transfer: async id => ledger.readTransfer(reader, id),
    holdings: async (aid, nowMs) => ledger.readHoldings(reader, aid, nowMs),
    openHold: async transaction => ledger.readOpenHold(reader, transaction),
    lapsedHolds: async (nowMs, limit, payer) => ledger.readLapsedHolds(reader, { nowMs, limit, payer }),
    ledgerEntries: async query => ledger.readEntries(reader, query),
    oldestEntry: async (aid, sinceMs) => ledger.readOldestEntry(reader, aid, sinceMs),
    accountTotals: async aid => ledger.readAccountTotals(reader, aid),
    withoutTrial: async query => ledger.readWithoutTrial(reader, query),
    supplyHead: async () => ledger.readSupplyHead(reader),
    supplyRecords: async (from, limit) => ledger.readSupplyRecords(reader, from, limit),
    async addProofPiece(piece) {
      await writer.write('addProofPiece', piece)
    },
    appendEpoch: (record, epoch, keptSinceDay) =>
      writer.write('appendEpoch', { record, epoch, keptSinceDay }),
    async returnSupply(given) {
      await writer.write('returnSupply', given)
    },
    keptEpoch: async day => ledger.readKeptEpoch(reader, day),
    proofPiece: async of => ledger.readProofPiece(reader, of),
    ledgerHw: async () => ledger.readLedgerHw(reader),
    creditTotals: async () => ledger.readTotals(reader),
    redemptions: async query => ledger.readRedemptions(reader, query),
    snapshot: async () => ledger.readSnapshot(reader),
    booksAgree: async () => booksAgree(ledger.readSnapshot(reader)),
  }
}
