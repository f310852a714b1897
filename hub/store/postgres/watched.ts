/** Connections that remember how the latest change ended, and while the database is away look whether it is back. */
import { StoreAway, StoreFull, type StoreHealth, StoreLocked } from '../port.ts'
import { StoreDenied } from '../setup-refused.ts'
import type { Connections, Queries, TransactionOptions, Value } from './connections.ts'

/** Hears why the database is away; of nothing when it is back. */
export type OnAway = (why: string | undefined) => void

/** The database has forgotten what processes remember together, as after a crash: nothing is written before that is noted. */
export class Forgotten extends StoreAway {
  override name = 'Forgotten'
  constructor() {
    super('the database is away: it was restarted')
  }
}

/**
 * `isWhole` asks one thing, within each transaction that writes. Where the answer is no, and after each time at which the
 * server was away, `mend` is done before anything is read or written.
 */
export type Guard = { isWhole: (db: Queries) => Promise<boolean>; mend: () => Promise<unknown> }

export class WatchedConnections implements Connections {
  readonly #connections: Connections
  readonly #onAway: OnAway | undefined
  #guard: Guard | undefined
  #suspected = false
  #mending: Promise<unknown> | undefined
  #health = { full: false, locked: false, away: false }
  #looking = false
  #isHeld = false
  #denial: string | undefined
  /** How often it came back: whoever asked before the last time tells nothing of what is now. */
  #returns = 0

  constructor(connections: Connections, onAway?: OnAway) {
    this.#connections = connections
    this.#onAway = onAway
  }

  /** Waits for nothing; whoever asks again learns of what has changed. */
  health(): Omit<StoreHealth, 'broken'> {
    if (this.#health.away && !this.#looking) {
      this.#looking = true
      void this.#look().finally(() => {
        this.#looking = false
      })
    }
    return this.#health
  }

  guardWith(guard: Guard): void {
    this.#guard = guard
  }

  /** Another server may answer now, or the same one may have lost something. */
  suspect(): void {
    this.#suspected = true
  }

  /** Whoever reads or writes goes by what is so after the mending. */
  async #mended(): Promise<void> {
    const guard = this.#guard
    if (!this.#suspected || guard === undefined) return
    this.#mending ??= guard.mend().finally(() => {
      this.#mending = undefined
    })
    await this.#mending
    this.#suspected = false
  }

  async transaction<T>(work: (db: Queries) => Promise<T>, options?: TransactionOptions): Promise<T> {
    await this.#mended()
    const guard = this.#guard
    if (guard === undefined || options?.reads === true) return await this.unguarded(work, options)
    try {
      return await this.unguarded(db => behind(guard, db, work), options)
    } catch (error) {
      // what was judged by rows of before has to be judged again
      if (error instanceof Forgotten) this.suspect()
      throw error
    }
  }

  async unguarded<T>(work: (db: Queries) => Promise<T>, options?: TransactionOptions): Promise<T> {
    const done = await this.#noting(this.#connections.transaction(work, options))
    if (this.#isHeld) return done
    if (this.#health.away) {
      this.#returns += 1
      this.#onAway?.(undefined)
    }
    this.#health = { full: false, locked: false, away: false }
    this.#denial = undefined
    return done
  }

  async all<T>(sql: string, ...values: Value[]): Promise<T[]> {
    await this.#mended()
    return await this.#noting(this.#connections.all<T>(sql, ...values))
  }

  async one<T>(sql: string, ...values: Value[]): Promise<T | undefined> {
    await this.#mended()
    return await this.#noting(this.#connections.one<T>(sql, ...values))
  }

  run(sql: string, ...values: Value[]): Promise<number> {
    return this.transaction(db => db.run(sql, ...values))
  }

  close(): Promise<void> {
    return this.#connections.close()
  }

  /** A server that only reads, such as a standby, is none to write to. */
  async #look(): Promise<void> {
    try {
      await this.transaction(async db => {
        const row = await db.one<{ reads: string }>(
          "SELECT current_setting('transaction_read_only') AS reads",
        )
        if (row?.reads !== 'off') throw new StoreAway('the database is away: it takes no changes')
      })
    } catch {
      // it is still away, as was noted
    }
  }

  /** Why it is away, where it is there and lets this process in no more. */
  get denial(): string | undefined {
    return this.#health.away ? this.#denial : undefined
  }

  #noteAway(error: StoreAway): void {
    const denial = error instanceof StoreDenied ? error.message : undefined
    // a server that came back and lets nobody in is told of as well
    const isNew = denial !== undefined && denial !== this.#denial
    if (!this.#health.away || isNew) this.#onAway?.(error.message)
    this.#denial = denial ?? (this.#health.away ? this.#denial : undefined)
    this.suspect()
    this.#health = { ...this.#health, away: true }
  }

  /** It stays away, although it answers, until nothing holds it. */
  holdAway(why: StoreAway | undefined): void {
    // told although it is away already: a commit without an answer did not say why
    if (why !== undefined && !this.#isHeld) this.#onAway?.(why.message)
    this.#isHeld = why !== undefined
    if (this.#isHeld) this.#health = { ...this.#health, away: true }
  }

  /** Takes notice of a change that failed alone. */
  note(error: unknown): void {
    if (error instanceof StoreFull) this.#health = { ...this.#health, full: true }
    if (error instanceof StoreLocked) this.#health = { ...this.#health, locked: true }
  }

  async #noting<T>(asked: Promise<T>): Promise<T> {
    const returns = this.#returns
    try {
      return await asked
    } catch (error) {
      if (error instanceof Forgotten) throw error
      if (error instanceof StoreAway && returns === this.#returns) this.#noteAway(error)
      this.note(error)
      throw error
    }
  }
}

/** The question goes out along with the work, and its answer is there before the commit. */
async function behind<T>(guard: Guard, db: Queries, work: (db: Queries) => Promise<T>): Promise<T> {
  const [whole, done] = await Promise.allSettled([guard.isWhole(db), work(db)])
  if (whole.status === 'rejected') throw whole.reason
  if (!whole.value) throw new Forgotten()
  if (done.status === 'rejected') throw done.reason
  return done.value
}
