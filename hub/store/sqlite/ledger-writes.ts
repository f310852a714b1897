/** The ledger's changes: each transfer is judged whole. They run inside a transaction. */
import type {
  AccountName,
  KeptEpoch,
  NewSupplyRecord,
  Posting,
  PostResult,
  ProofPiece,
  ReturnedSupply,
  Totals,
} from '../ledger-port.ts'
import { type Balance, type Books, type Change, endedHold, goesOn, judge, openedHold } from '../posting.ts'
import { versionOf } from './agent-writes.ts'
import type { Database } from './database.ts'
import { readSupplyHead, readTotals, readTransfer } from './ledger-reads.ts'
import { keepVoucher } from './voucher-store.ts'

type Account = Balance & { number: number }

/** Posts a transfer once; every later one with its id gets the first. */
export function post(db: Database, posting: Posting): PostResult {
  const transfer = readTransfer(db, posting.id)
  if (transfer !== undefined) return { outcome: 'held', transfer }
  const judged = judge(posting, booksOver(db))
  if ('refused' in judged) return { outcome: judged.refused }
  const { changes, totals } = judged
  const seq = insertTransfer(db, posting)
  const numbers = changes.map(change => applyChange(db, change))
  for (const [at, change] of changes.entries()) insertEntry(db, seq, change, numbers[at] ?? 0)
  writeTotals(db, totals)
  endOrOpenHold(db, posting)
  if (posting.trials !== undefined) markTrial(db, posting)
  if (posting.supply !== undefined) insertRecord(db, posting.supply)
  if (posting.voucher !== undefined) keepVoucher(db, seq, posting.voucher)
  return { outcome: 'posted', seq }
}

const booksOver = (db: Database): Books<Account> => ({
  accountOf: name => accountOf(db, name),
  totals: () => readTotals(db),
  head: () => readSupplyHead(db),
  versionOf: aid => versionOf(db, aid),
  isOpenHold: account => isOpenHold(db, account),
  refundedOf: about => refundedOf(db, about),
  trialsSince: ms => trialsSince(db, ms),
})

function accountOf(db: Database, { kind, name }: AccountName): Account {
  const row = db.one<Account>(
    'SELECT number, balance FROM ledger_account WHERE kind = ? AND name = ?',
    kind,
    name,
  )
  return row ?? { number: 0, balance: 0 }
}

function isOpenHold(db: Database, { kind, name }: AccountName): boolean {
  const row = db.one(
    'SELECT 1 FROM ledger_hold JOIN ledger_account ON number = account WHERE kind = ? AND name = ? AND is_open = 1',
    kind,
    name,
  )
  return row !== undefined
}

function refundedOf(db: Database, about: Uint8Array | undefined): number {
  const sql =
    "SELECT coalesce(sum(amount), 0) AS sum FROM ledger_transfer WHERE about = ? AND reason = 'refund'"
  return db.one<{ sum: number }>(sql, about ?? null)?.sum ?? 0
}

function trialsSince(db: Database, sinceMs: number): number {
  const sql =
    "SELECT coalesce(sum(amount), 0) AS sum FROM ledger_transfer WHERE reason = 'trial' AND at_ms >= ?"
  return db.one<{ sum: number }>(sql, sinceMs)?.sum ?? 0
}

function insertTransfer(db: Database, posting: Posting): number {
  const { id, reason, atMs, amount, about, receipt, authorization, reference } = posting
  db.run(
    'INSERT INTO ledger_transfer (id, reason, at_ms, amount, about, receipt, authorization, reference) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    id,
    reason,
    atMs,
    amount,
    about ?? null,
    receipt ?? null,
    authorization ?? null,
    reference ?? null,
  )
  return db.one<{ seq: number }>('SELECT last_insert_rowid() AS seq')?.seq ?? 0
}

/** The number of the account, which the first change of it makes. */
function applyChange(db: Database, { account, name, delta }: Change<Account>): number {
  if (account.number === 0) return insertAccount(db, name, delta)
  db.run('UPDATE ledger_account SET balance = balance + ? WHERE number = ?', delta, account.number)
  return account.number
}

function insertAccount(db: Database, { kind, name }: AccountName, balance: number): number {
  db.run('INSERT INTO ledger_account (kind, name, balance) VALUES (?, ?, ?)', kind, name, balance)
  return db.one<{ number: number }>('SELECT last_insert_rowid() AS number')?.number ?? 0
}

function insertEntry(db: Database, seq: number, { delta, other }: Change<Account>, account: number): void {
  const known = numberOf(db, other)
  db.run(
    'INSERT INTO ledger_entry (account, transfer, delta, other) VALUES (?, ?, ?, ?)',
    account,
    seq,
    delta,
    known,
  )
}

/** The number of an account, which is made where it is new. */
function numberOf(db: Database, name: AccountName): number {
  const { number } = accountOf(db, name)
  return number === 0 ? insertAccount(db, name, 0) : number
}

function writeTotals(db: Database, totals: Totals): void {
  const { agents, holds, issued, retired, owedByPeers, dueToPeers } = totals
  db.run(
    'UPDATE ledger_totals SET agents = ?, holds = ?, issued = ?, retired = ?, owed_by_peers = ?, due_to_peers = ?',
    agents,
    holds,
    issued,
    retired,
    owedByPeers,
    dueToPeers,
  )
}

function endOrOpenHold(db: Database, posting: Posting): void {
  const ended = endedHold(posting)
  if (ended !== undefined)
    db.run('UPDATE ledger_hold SET is_open = 0 WHERE account = ?', accountOf(db, ended).number)
  const opened = openedHold(posting)
  if (opened === undefined) return
  db.run(
    'INSERT INTO ledger_hold (account, payer, payee, until_ms, peer) VALUES (?, ?, ?, ?, ?)',
    accountOf(db, opened.account).number,
    accountOf(db, opened.payer).number,
    accountOf(db, opened.payee).number,
    opened.untilMs,
    opened.peer === undefined ? null : numberOf(db, opened.peer),
  )
}

function markTrial(db: Database, { moves }: Posting): void {
  const to = moves[0]?.to
  if (to !== undefined)
    db.run('UPDATE ledger_account SET trial = 1 WHERE kind = ? AND name = ?', to.kind, to.name)
}

function insertRecord(db: Database, { seq, id, record }: NewSupplyRecord): void {
  db.run('INSERT INTO supply_record (seq, id, record) VALUES (?, ?, ?)', seq, id, record)
}

/** Keeps a piece of an epoch that is to come; one that was interrupted is begun again. */
export function addProofPiece(db: Database, { day, level, piece, bytes }: ProofPiece): true {
  db.run(
    'INSERT OR REPLACE INTO supply_piece (day, level, piece, bytes) VALUES (?, ?, ?, ?)',
    day,
    level,
    piece,
    bytes,
  )
  return true
}

/** Adds an epoch if the chain has not gone on meanwhile. */
export function appendEpoch(
  db: Database,
  change: { record: NewSupplyRecord; epoch: Omit<KeptEpoch, 'seq'>; keptSinceDay: number },
): boolean {
  const { record, epoch, keptSinceDay } = change
  if (!goesOn(readSupplyHead(db), record)) return false
  insertRecord(db, record)
  keepEpochs(db, [{ ...epoch, seq: record.seq }], keptSinceDay)
  return true
}

function keepEpochs(db: Database, epochs: readonly KeptEpoch[], keptSinceDay: number): void {
  const sql = 'INSERT OR REPLACE INTO supply_epoch (day, seq, accounts) VALUES (?, ?, ?)'
  for (const { day, seq, accounts } of epochs) db.run(sql, day, seq, accounts)
  db.run('DELETE FROM supply_epoch WHERE day < ?', keptSinceDay)
  db.run('DELETE FROM supply_piece WHERE day < ?', keptSinceDay)
}

/** Adds records that were here before, then the transfers that go with them; throws where one does not fit. */
export function returnSupply(db: Database, given: ReturnedSupply): true {
  const { records, epochs, keptSinceDay, postings } = given
  for (const record of records) {
    if (!goesOn(readSupplyHead(db), record))
      throw new Error(`record ${record.seq} does not go on from the supply chain`)
    insertRecord(db, record)
  }
  if (epochs.length > 0) keepEpochs(db, epochs, keptSinceDay)
  for (const posting of postings) {
    const { outcome } = post(db, posting)
    if (outcome !== 'posted') throw new Error(`a transfer that comes back is not posted: ${outcome}`)
  }
  return true
}
