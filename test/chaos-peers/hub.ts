/** A hub as a process, as the check of histories sees it: its rows are read beside it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readIdentity } from '../../hub/core/identity.ts'
import { booksAgree } from '../../hub/store/books.ts'
import type { Totals } from '../../hub/store/ledger-port.ts'
import { type Database, openReader } from '../../hub/store/sqlite/database.ts'
import { readHoldings, readSnapshot, readTotals, readTransfer } from '../../hub/store/sqlite/ledger-reads.ts'
import { peerPaymentsOver } from '../../hub/store/sqlite/peer-payment-store.ts'
import type { Target } from '../../hub/testing/hub.ts'
import type { VerifiedKel } from '../../protocol/identity/kel.ts'
import type { Restore, Side } from '../matrix/peers/side.ts'

/** After a start every signing time must lie above start + 2 s. */
const PAST_START_FLOOR_MS = 2500

export class ChaosHub implements Side {
  readonly name: string
  readonly directory: string
  readonly #log: string
  readonly url: string
  readonly aid: string
  readonly isUp = true
  readonly calls = 0
  readonly restores: Restore[] = []
  readonly store: Side['store']

  constructor(given: { name: string; directory: string; log: string; url: string }) {
    this.name = given.name
    this.directory = given.directory
    this.#log = given.log
    this.url = given.url
    this.aid = readIdentity(this.directory).aid
    this.store = {
      transfer: async id => this.#read(db => readTransfer(db, id)),
      booksAgree: async () => this.#read(db => booksAgree(readSnapshot(db))),
      holdings: async (aid, nowMs) => this.#read(db => readHoldings(db, aid, nowMs)),
      peerPayment: id => this.#over(store => store.peerPayment(id)),
      peerCredit: peer => this.#over(store => store.peerCredit(peer)),
    }
  }

  get target(): Target {
    const { url, aid } = this
    return { url, aid, clock: { now: () => Date.now() + PAST_START_FLOOR_MS, advance: () => undefined } }
  }

  now(): number {
    return Date.now()
  }

  get kel(): VerifiedKel {
    return readIdentity(this.directory).kel
  }

  wasTold(words: string): boolean {
    return readFileSync(this.#log, 'utf8').includes(words)
  }

  get totals(): Totals {
    return this.#read(readTotals)
  }

  #read<T>(read: (db: Database) => T): T {
    const db = openReader(join(this.directory, 'hub.db'))
    try {
      return read(db)
    } finally {
      db.close()
    }
  }

  #over<T>(read: (store: ReturnType<typeof peerPaymentsOver>) => Promise<T>): Promise<T> {
    // these read at once
    return this.#read(db => read(peerPaymentsOver(db, undefined as never)))
  }
}
