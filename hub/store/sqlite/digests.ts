/**
 * Digests of the envelopes that were queued in the last day, and whether they still wait: repeats and redelivery are
 * judged by them (hub API §4.1). A digest is as good as random, so in a sorted table each new one would touch a page of
 * its own, which the flush of its group then has to write. New ones stand in their order of arrival instead, with an
 * index in memory, and thousands at a time are sorted in. A digest is in one of the two tables.
 */
import type { Seen } from '../queueing.ts'
import type { Database } from './database.ts'

/** An envelope of a mailbox by what it is, wherever it waits. */
export type DigestOf = { mailbox: number; digest: Uint8Array }

const SORT_AT = 8192

/** The digests of one open store, for the connection that writes. */
export class Digests {
  readonly #db: Database
  readonly #sortAt: number
  /** Where each new one stands. */
  readonly #new = new Map<string, number>()
  #last = 0
  /** What the running transaction added; undefined once it sorted. */
  #added: string[] | undefined = []

  constructor(db: Database, sortAt = SORT_AT) {
    this.#db = db
    this.#sortAt = sortAt
    type Place = DigestOf & { n: number }
    for (const row of db.each<Place>('SELECT n, mailbox, digest FROM digest_new ORDER BY n')) {
      this.#new.set(nameOf(row), row.n)
      this.#last = row.n
    }
  }

  /** What is known of a digest; undefined for one that was not queued within the last day or so. */
  find(of: DigestOf): Seen | undefined {
    const n = this.#new.get(nameOf(of))
    if (n !== undefined)
      return this.#db.one<Seen>('SELECT since_ms, times, waiting FROM digest_new WHERE n = ?', n)
    return this.#db.one<Seen>(
      'SELECT since_ms, times, waiting FROM digest WHERE mailbox = ? AND digest = ?',
      of.mailbox,
      of.digest,
    )
  }

  /** Notes a digest of which nothing is known yet. `early`: the connection that reads has to find it as well. */
  add(of: DigestOf, { since_ms, times, waiting }: Seen, early: boolean): void {
    const values = [of.mailbox, of.digest, since_ms, times, waiting]
    if (early) {
      this.#db.run(
        'INSERT INTO digest (mailbox, digest, since_ms, times, waiting) VALUES (?, ?, ?, ?, ?)',
        ...values,
      )
      return
    }
    this.#last += 1
    this.#db.run(
      'INSERT INTO digest_new (mailbox, digest, since_ms, times, waiting, n) VALUES (?, ?, ?, ?, ?, ?)',
      ...values,
      this.#last,
    )
    const name = nameOf(of)
    this.#new.set(name, this.#last)
    this.#added?.push(name)
    if (this.#new.size >= this.#sortAt) this.sortIn()
  }

  /** Changes what is known of a digest. */
  change(of: DigestOf, { since_ms, times, waiting }: Seen): void {
    const n = this.#new.get(nameOf(of))
    const values = [since_ms, times, waiting]
    if (n !== undefined)
      this.#db.run('UPDATE digest_new SET since_ms = ?, times = ?, waiting = ? WHERE n = ?', ...values, n)
    else
      this.#db.run(
        'UPDATE digest SET since_ms = ?, times = ?, waiting = ? WHERE mailbox = ? AND digest = ?',
        ...values,
        of.mailbox,
        of.digest,
      )
  }

  /** Its envelope was collected or has expired. */
  waitsNoMore(of: DigestOf): void {
    const n = this.#new.get(nameOf(of))
    if (n !== undefined) this.#db.run('UPDATE digest_new SET waiting = 0 WHERE n = ?', n)
    else this.#db.run('UPDATE digest SET waiting = 0 WHERE mailbox = ? AND digest = ?', of.mailbox, of.digest)
  }

  /** Forgets those that wait no more and were first queued by then, at most `limit`, and tells how many. */
  sweep(sinceMs: number, limit: number): number {
    this.sortIn()
    return this.#db.run(
      'DELETE FROM digest WHERE (mailbox, digest) IN' +
        ' (SELECT mailbox, digest FROM digest WHERE waiting = 0 AND since_ms <= ? LIMIT ?)',
      sinceMs,
      limit,
    )
  }

  /** Moves the new ones to where all are sorted; of one that should stand twice in the file, one row is kept. */
  sortIn(): void {
    if (this.#new.size === 0) return
    this.#db.run(
      'INSERT OR IGNORE INTO digest (mailbox, digest, since_ms, times, waiting)' +
        ' SELECT mailbox, digest, since_ms, times, waiting FROM digest_new ORDER BY mailbox, digest, n DESC',
    )
    this.#db.run('DELETE FROM digest_new')
    this.#new.clear()
    this.#added = undefined
  }

  /** What is added from now on may be taken back. */
  begin(): void {
    this.#added = []
  }

  /** Takes back what was added since `begin`, and tells whether that could be done. */
  undo(): boolean {
    for (const name of this.#added ?? []) this.#new.delete(name)
    return this.#added !== undefined
  }
}

const known = new WeakMap<Database, Digests>()

export function digestsOf(db: Database): Digests {
  let digests = known.get(db)
  if (digests === undefined) {
    digests = new Digests(db)
    known.set(db, digests)
  }
  return digests
}

/** A transaction was rolled back to its begin: what it added is forgotten. */
export function undoDigests(db: Database): void {
  if (known.get(db)?.undo() !== true) rereadDigests(db)
}

/** A part of a transaction was rolled back: the index in memory is made anew from what the table holds. */
export function rereadDigests(db: Database): void {
  known.delete(db)
}

function nameOf({ mailbox, digest }: DigestOf): string {
  return `${mailbox} ${Buffer.from(digest.buffer, digest.byteOffset, digest.length).toString('latin1')}`
}
