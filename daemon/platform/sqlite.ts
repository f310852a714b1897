/** The only file of the node that names node:sqlite: opening with the durability the store relies on, transactions. */
import * as sqlite from 'node:sqlite'

// The class is about to be renamed; both names are looked up so that neither runtime breaks.
const Database =
  (sqlite as unknown as { Database?: typeof sqlite.DatabaseSync }).Database ?? sqlite.DatabaseSync

export type Database = sqlite.DatabaseSync
export type Statement = sqlite.StatementSync
export type Value = sqlite.SQLOutputValue
export type Row = Record<string, Value>

const CACHE_KIB = 16_384

/** Durable, and other processes may read the file meanwhile. */
const SHARED = 'PRAGMA locking_mode = NORMAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL'
/** Neither: each statement and each commit takes fewer calls of the system. */
const ALONE = 'PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF'

/** `isAlone`: nobody else looks at the file, and it need not outlive its process. */
export function openDatabase(path: string, { isAlone = false } = {}): Database {
  const database = new Database(path)
  try {
    database.exec(`
      ${isAlone ? ALONE : SHARED};
      PRAGMA foreign_keys = ON;
      PRAGMA secure_delete = ON;
      PRAGMA busy_timeout = 5000;
      PRAGMA cache_size = -${CACHE_KIB};
    `)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/** Opens a file that nothing is written to. */
export const openReadOnly = (path: string): Database => new Database(path, { readOnly: true })

/**
 * A statement whose planner does not look at the value of `LIMIT ?`: with it, SQLite prepares the statement anew at every
 * run, which takes ten times as long as to read an index.
 */
export const withPlainLimit = (sql: string): string => sql.replaceAll('LIMIT ?', 'LIMIT +?')

const PRIMARY_RESULT = 0xff
const RESULT_CORRUPT = 11
const RESULT_NOT_A_DATABASE = 26

/** Whether the bytes of the file are to blame. */
export function isDamage(error: unknown): boolean {
  const code = ((error as { errcode?: number }).errcode ?? 0) & PRIMARY_RESULT
  return code === RESULT_CORRUPT || code === RESULT_NOT_A_DATABASE
}

const RESULT_BUSY = 5

/** Whether another program holds the file for longer than was waited. */
export const isLocked = (error: unknown): boolean =>
  ((((error ?? {}) as { errcode?: number }).errcode ?? 0) & PRIMARY_RESULT) === RESULT_BUSY

/** Opens a file that is locked until it is closed or its process ends, however that ends; undefined when it is taken. */
export function openLocked(path: string): Database | undefined {
  const database = new Database(path)
  try {
    // No journal on the disk: a node must start on a full one too, to be read.
    database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
    return database
  } catch (error) {
    database.close()
    if ((error as { errcode?: number }).errcode === RESULT_BUSY) return undefined
    throw error
  }
}

/** Runs `work` as one transaction: all of it is durable when this returns, or none of it happened. */
export function transaction<T>(database: Database, work: () => T): T {
  if (database.isTransaction) return work()
  database.exec('BEGIN IMMEDIATE')
  try {
    const result = work()
    database.exec('COMMIT')
    return result
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}
