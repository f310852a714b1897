/** Opening the node's store: schema number, migration after a copy, refusal of a newer one, prepared statements. */

import * as fs from 'node:fs'
import { dirname, join } from 'node:path'
import { Failure, wordsOf } from '../../protocol/encoding/errors.ts'
import { faultPoint } from '../platform/faults.ts'
import { ensureSecretDirectory, SECRET_FILE_MODE } from '../platform/files.ts'
import {
  type Database,
  isDamage,
  openDatabase,
  openReadOnly,
  type Row,
  type Statement,
  transaction,
  type Value,
  withPlainLimit,
} from '../platform/sqlite.ts'
import { memberOf } from './columns.ts'
import { foreignIn } from './foreign-schema.ts'
import { schema } from './schema.ts'
import { addUpgradeFunctions } from './upgrade-functions.ts'
import { upgrades } from './upgrades.ts'

export const STORE_SCHEMA = upgrades.length + 1

export class StoreError extends Failure {
  override name = 'StoreError'
}

type Parameter = string | number | Uint8Array | null
type Names = { columns: readonly string[]; members: readonly string[] }
type Prepared = { statement: Statement; names: Names | undefined }

/** Columns of a statement once it has run, since a table that was altered meanwhile has others; and their members. */
const namesOfStatements = new WeakMap<Statement, Names>()

/** The store: transactions, and statements prepared once by their text. */
export class Store {
  readonly folder: string
  readonly database: Database
  #statements = new Map<string, Prepared>()
  #afterCommit: (() => void)[] = []
  #onTaskFailed: (error: unknown) => void = () => {}

  constructor(folder: string, database: Database) {
    this.folder = folder
    this.database = database
  }

  /** All of `work` is durable when this returns, or none of it happened; nested calls join the outer one. */
  transaction<T>(work: () => T, fault = 'node.store'): T {
    if (this.database.isTransaction) return work()
    this.#afterCommit = []
    const result = transaction(this.database, () => {
      const value = work()
      faultPoint(`${fault}.before-commit`)
      return value
    })
    faultPoint(`${fault}.after-commit`)
    for (const task of this.#afterCommit.splice(0)) this.attempt(task)
    return result
  }

  /**
   * The same without waiting for the disk: it gets there with the next transaction that does. A power cut before that
   * undoes it, so it is for what is then done once more without harm.
   */
  unflushed<T>(work: () => T, fault: string): T {
    if (this.database.isTransaction) return work()
    this.database.exec('PRAGMA synchronous = NORMAL')
    try {
      return this.transaction(work, fault)
    } finally {
      this.database.exec('PRAGMA synchronous = FULL')
    }
  }

  /** What `work` would answer now; nothing that it writes stays. */
  rehearse<T>(work: () => T): T {
    this.database.exec('BEGIN')
    try {
      return work()
    } finally {
      this.#afterCommit = []
      this.database.exec('ROLLBACK')
    }
  }

  /** Hears of after-commit work that failed: what was committed stays committed, and the other work still runs. */
  set onTaskFailed(listener: (error: unknown) => void) {
    this.#onTaskFailed = listener
  }

  /** Runs work whose failure ends nothing else; the listener hears of it. */
  attempt(task: () => void): void {
    try {
      task()
    } catch (error) {
      this.#onTaskFailed(error)
    }
  }

  /** Runs `task` once the transaction around this call is durable; at once when there is none. */
  afterCommit(task: () => void): void {
    if (this.database.isTransaction) this.#afterCommit.push(task)
    else task()
  }

  run(sql: string, ...parameters: Parameter[]): { changes: number; key: number } {
    const { changes, lastInsertRowid } = this.#prepare(sql).statement.run(...parameters)
    return { changes: Number(changes), key: Number(lastInsertRowid) }
  }

  /** The first row, by the names of its columns. */
  get<R = Row>(sql: string, ...parameters: Parameter[]): R | undefined {
    return this.#first('columns', sql, parameters) as R | undefined
  }

  all<R = Row>(sql: string, ...parameters: Parameter[]): R[] {
    return this.#every('columns', sql, parameters) as R[]
  }

  /** The first row as an object whose members mirror the columns: `next_at` is `nextAt`. */
  row<T>(sql: string, ...parameters: Parameter[]): T | undefined {
    return this.#first('members', sql, parameters) as T | undefined
  }

  rows<T>(sql: string, ...parameters: Parameter[]): T[] {
    return this.#every('members', sql, parameters) as T[]
  }

  /** Lets go of the pages and prepared statements that are kept in memory; those that are needed are had again. */
  releaseMemory(): void {
    this.#statements.clear()
    this.database.exec('PRAGMA shrink_memory')
  }

  close(): void {
    this.#statements.clear()
    this.database.close()
  }

  #first(named: keyof Names, sql: string, parameters: Parameter[]): Row | undefined {
    const prepared = this.#prepare(sql)
    const values = prepared.statement.get(...parameters) as unknown as Value[] | undefined
    return values && objectOf(namesOf(prepared)[named], values)
  }

  #every(named: keyof Names, sql: string, parameters: Parameter[]): Row[] {
    const prepared = this.#prepare(sql)
    const rows = prepared.statement.all(...parameters) as unknown as Value[][]
    if (rows.length === 0) return []
    const names = namesOf(prepared)[named]
    return rows.map(values => objectOf(names, values))
  }

  #prepare(sql: string): Prepared {
    let prepared = this.#statements.get(sql)
    if (prepared === undefined) {
      const statement = this.database.prepare(withPlainLimit(sql), { returnArrays: true })
      prepared = { statement, names: namesOfStatements.get(statement) }
      this.#statements.set(sql, prepared)
    }
    return prepared
  }
}

function namesOf(prepared: Prepared): Names {
  prepared.names ??= readNames(prepared.statement)
  return prepared.names
}

function readNames(statement: Statement): Names {
  const columns = statement.columns().map(({ name }) => name)
  const names = { columns, members: columns.map(memberOf) }
  namesOfStatements.set(statement, names)
  return names
}

/** Made here, since the runtime makes objects whose members take long to be found. */
function objectOf(names: readonly string[], values: readonly Value[]): Row {
  const row: Row = {}
  for (let n = 0; n < names.length; n++) row[names[n] as string] = values[n] as Value
  return row
}

/** Where the store of a data directory is. */
export const storePath = (dir: string): string => join(dir, 'interactions', 'store.db')

/** Opens the store of a data directory, bringing an older schema up to this release. */
export const openStore = (dir: string): Store => openStoreAt(madeStore(dir))

/** The same for tests, where this process is the only one that looks at the file and no crash is survived. */
export function openStoreAlone(dir: string, open = openAlone): Store {
  const path = madeStore(dir)
  return opened(path, open, database => migrate(database, path))
}

const openAlone = (path: string): Database => openDatabase(path, { isAlone: true })

function madeStore(dir: string): string {
  const path = storePath(dir)
  ensureSecretDirectory(dirname(path))
  if (!fs.existsSync(path)) fs.closeSync(fs.openSync(path, 'a', SECRET_FILE_MODE))
  return path
}

/** Opens a store file, or one in memory. */
export function openStoreAt(path: string): Store {
  return opened(
    path,
    file => openDatabase(file),
    database => migrate(database, path),
  )
}

/**
 * The store of a stopped node, its pages checked, to be read only; an empty one where there is none, and undefined for
 * one of an older schema.
 */
export function peekStore(dir: string): Store | undefined {
  const path = storePath(dir)
  if (!fs.existsSync(path)) return openStoreAt(':memory:')
  const store = opened(path, openReadOnly, database => checkPages(database, path))
  if (schemaOf(store.database, path) === STORE_SCHEMA) return store
  store.close()
  return undefined
}

/** An open store that `prepare` has made ready; damage is said with the path, and what helps. */
function opened(
  path: string,
  open: (path: string) => Database,
  prepare: (database: Database) => void,
): Store {
  try {
    const database = open(path)
    try {
      requireOwn(database, path)
      prepare(database)
    } catch (error) {
      database.close()
      throw error
    }
    return new Store(dirname(path), database)
  } catch (error) {
    if (isDamage(error)) throw damaged(path, wordsOf(error), error)
    throw error
  }
}

/** Before anything is read or written: what it holds would run with that. */
function requireOwn(database: Database, path: string): void {
  const foreign = foreignIn(database)
  if (foreign !== undefined)
    throw new StoreError(
      `${path} holds the ${foreign}, which no release of svc writes and which would run here; do not use it, and take another backup or archive`,
    )
}

const damaged = (path: string, why: string, cause?: unknown) =>
  new StoreError(
    `${path} is damaged (${why}); restore ${dirname(path)} from its backup, or move it away and run svc evidence import (it brings back the evidence but no messages)`,
    { cause },
  )

function checkPages(database: Database, path: string): void {
  const row = database.prepare('PRAGMA quick_check(1)').get() as { quick_check: string }
  if (row.quick_check !== 'ok') throw damaged(path, row.quick_check.replace(/^\*\*\* .* \*\*\*\s*/, ''))
}

function schemaOf(database: Database, path: string): number {
  const { user_version: version } = database.prepare('PRAGMA user_version').get() as { user_version: number }
  if (version > STORE_SCHEMA)
    throw new StoreError(
      `${path} has schema ${version}, this release knows ${STORE_SCHEMA}; start the newer release that wrote it`,
    )
  return version
}

function migrate(database: Database, path: string): void {
  const version = schemaOf(database, path)
  if (version === STORE_SCHEMA) return
  if (version > 0) copyBefore(database, `${path}.schema-${version}`)
  addUpgradeFunctions(database)
  transaction(database, () => {
    if (version === 0) database.exec(schema)
    else for (const step of upgrades.slice(version - 1)) database.exec(step)
    database.exec(`PRAGMA user_version = ${STORE_SCHEMA}`)
  })
}

function copyBefore(database: Database, copy: string): void {
  fs.rmSync(copy, { force: true })
  database.exec(`VACUUM INTO '${copy.replaceAll("'", "''")}'`)
  fs.chmodSync(copy, SECRET_FILE_MODE)
}
