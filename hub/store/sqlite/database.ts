/** The one place that imports node:sqlite: opening with the hub's pragmas, prepared statements, error classes. */
import * as sqlite from 'node:sqlite'
import { EngineFault, StoreFull } from '../port.ts'

type Engine = sqlite.DatabaseSync
type Statement = sqlite.StatementSync
/** What a column can hold. */
export type Value = null | number | string | Uint8Array
export type Row = Record<string, Value>

// The classes lose their suffix in a coming release of Node.
const EngineClass =
  (sqlite as unknown as { Database?: typeof sqlite.DatabaseSync }).Database ?? sqlite.DatabaseSync

const CACHE_KIB = 2 * 1024
const READER_CACHE_KIB = 1024
const PAGE_BYTES = 4096
const CHECKPOINT_PAGES = 4000
/** More pages than a database has: the copy is one step and needs no second start. */
const PAGES_MAX = 2 ** 31 - 1
const BUSY_WAIT_MS = 5000
const RESULT_ERROR = 1
const RESULT_BUSY = 5
const RESULT_IOERR = 10
/** The index of the log could not grow, which is want of room. */
const RESULT_IOERR_SHMSIZE = 4874
const RESULT_CORRUPT = 11
const RESULT_FULL = 13
const RESULT_NOTADB = 26

/** A connection with its prepared statements. */
export class Database {
  readonly engine: Engine
  readonly #statements = new Map<string, Statement>()
  /** Hears of what the engine refuses, and says what the caller hears. */
  onFault: (error: unknown) => unknown = error => error

  constructor(engine: Engine) {
    this.engine = engine
  }

  /** The first row, or undefined. */
  one<R = Row>(sql: string, ...values: Value[]): R | undefined {
    return this.#told(() => this.#statement(sql).get(...values) as R | undefined)
  }

  all<R = Row>(sql: string, ...values: Value[]): R[] {
    return this.#told(() => this.#statement(sql).all(...values) as R[])
  }

  /** Rows one after the other; who has enough stops. */
  *each<R = Row>(sql: string, ...values: Value[]): Iterable<R> {
    try {
      yield* this.#statement(sql).iterate(...values) as Iterable<R>
    } catch (error) {
      throw this.onFault(error)
    }
  }

  /** Runs a change and tells how many rows it touched. */
  run(sql: string, ...values: Value[]): number {
    return Number(this.#statement(sql).run(...values).changes)
  }

  /** Runs statements that are not worth keeping prepared. */
  exec(sql: string): void {
    this.engine.exec(sql)
  }

  /** Frees the pages that are kept in memory; those that are needed again are read again. */
  releasePages(): void {
    this.engine.exec('PRAGMA shrink_memory')
  }

  close(): void {
    this.#statements.clear()
    this.engine.close()
  }

  #told<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      throw this.onFault(error)
    }
  }

  #statement(sql: string): Statement {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.engine.prepare(withPlainLimit(sql))
      this.#statements.set(sql, statement)
    }
    return statement
  }
}

/**
 * A statement whose planner does not look at the value of `LIMIT ?`: with it, SQLite prepares the statement anew at every
 * run, which takes ten times as long as to read an index.
 */
const withPlainLimit = (sql: string): string => sql.replaceAll('LIMIT ?', 'LIMIT +?')

/** Opens the connection that writes: WAL, every commit on the disk before it is answered; no larger than `bytesMax`. */
export function openWriter(path: string, bytesMax?: number): Database {
  const database = new Database(new EngineClass(path))
  database.exec(`PRAGMA busy_timeout = ${BUSY_WAIT_MS}`)
  database.exec('PRAGMA journal_mode = WAL')
  database.exec('PRAGMA synchronous = FULL; PRAGMA fullfsync = 1; PRAGMA foreign_keys = ON')
  database.exec('PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0')
  database.exec(`PRAGMA cache_size = -${CACHE_KIB}; PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
  if (bytesMax !== undefined) database.exec(`PRAGMA max_page_count = ${Math.ceil(bytesMax / PAGE_BYTES)}`)
  return database
}

/** Opens a connection for reading; it never waits for the writer. */
export function openReader(path: string): Database {
  const database = new Database(new EngineClass(path, { readOnly: true }))
  database.exec(`PRAGMA busy_timeout = ${BUSY_WAIT_MS}; PRAGMA query_only = ON; PRAGMA trusted_schema = OFF`)
  database.exec(`PRAGMA cache_size = -${READER_CACHE_KIB}; PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0`)
  return database
}

/** Opens a database for reading that no other process has open; unlike a mere reader it leaves no files beside it. */
export function openAlone(path: string): Database {
  const database = new Database(new EngineClass(path))
  database.exec(`PRAGMA busy_timeout = ${BUSY_WAIT_MS}; PRAGMA query_only = ON; PRAGMA trusted_schema = OFF`)
  return database
}

/** Opens a file that serves as a lock only: the operating system drops the lock when the process ends. */
export function openLock(path: string): Database {
  const database = new Database(new EngineClass(path))
  try {
    // No journal on the disk: a lock must be had on a full one too.
    database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
  } catch (error) {
    database.close()
    throw error
  }
  return database
}

/** Bytes of the pages that hold something. */
export function usedBytes(db: Database): number {
  const pages = db.one<{ page_count: number }>('PRAGMA page_count')?.page_count ?? 0
  const free = db.one<{ freelist_count: number }>('PRAGMA freelist_count')?.freelist_count ?? 0
  return (pages - free) * PAGE_BYTES
}

/** Ends a transaction without its changes. */
export function rollBack(db: Database): void {
  try {
    db.exec('ROLLBACK')
  } catch {
    // Nothing to roll back: the engine did it itself.
  }
}

export type FaultClass = 'busy' | 'full' | 'broken' | 'other'

/** What kind of trouble an error of the engine is. */
export function faultClass(error: unknown): FaultClass {
  if (!(error instanceof Error) || !('errcode' in error)) return 'other'
  const code = error.errcode
  if (typeof code !== 'number') return 'other'
  const primary = code & 0xff
  if (primary === RESULT_BUSY) return 'busy'
  if (primary === RESULT_FULL || code === RESULT_IOERR_SHMSIZE) return 'full'
  if (primary === RESULT_IOERR || primary === RESULT_CORRUPT || primary === RESULT_NOTADB) return 'broken'
  // a database that lost the hub's tables is another one
  if (primary === RESULT_ERROR && /^no such (table|column):/.test(error.message)) return 'broken'
  return 'other'
}

/** An error of the engine as the port says it: want of room, or the engine's own words. */
export function inWords(error: unknown): unknown {
  if (!(error instanceof Error) || !('errcode' in error)) return error
  const Told = faultClass(error) === 'full' ? StoreFull : EngineFault
  return new Told(error.message, { cause: error })
}

/** Copies a whole database into a new file in one consistent step. */
export function copyDatabase(database: Database, path: string): void {
  database.run('VACUUM INTO ?', path)
}

/**
 * Copies the database that lies at `path`, as it stands at one moment, into a new file that needs no files beside it.
 * The copying is done by another thread; writers go on meanwhile.
 */
export async function copyLive(path: string, target: string, alone: boolean): Promise<void> {
  const source = alone ? openAlone(path) : openReader(path)
  try {
    await sqlite.backup(source.engine, target, { rate: PAGES_MAX })
  } finally {
    source.close()
  }
  const copy = new Database(new EngineClass(target))
  copy.exec('PRAGMA journal_mode = DELETE')
  copy.close()
}

/** Everything that the engine finds wrong in a database; an empty list when it is whole. */
export function integrityFaults(database: Database): string[] {
  const rows = database.all<{ integrity_check: string }>('PRAGMA integrity_check')
  return rows.map(row => row.integrity_check).filter(line => line !== 'ok')
}
