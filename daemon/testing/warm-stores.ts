/**
 * Stores whose connections outlive their nodes: who opens one again, or gives it the content of another one, has its
 * statements prepared already. For SQLite that content is what another process wrote.
 */
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SECRET_FILE_MODE } from '../platform/files.ts'
import { type Database, openDatabase, type Statement } from '../platform/sqlite.ts'
import { openStoreAlone, type Store, storePath } from '../store/open.ts'

type Connection = {
  database: Database
  /** By their text, of those that give rows as arrays and of the others; all of one schema. */
  prepared: { arrays: Map<string, Statement>; objects: Map<string, Statement> }
  schema: unknown
  file: number
}

const TAKE = 'PRAGMA locking_mode = EXCLUSIVE'
/** The lock goes with the next read. */
const LET_GO = 'PRAGMA locking_mode = NORMAL; PRAGMA user_version'
/** No power is cut here. */
const WAITS = /^PRAGMA synchronous = /
/** What begins and ends each transaction. */
const OFTEN = new Set(['BEGIN IMMEDIATE', 'COMMIT'])
/** Where a database file says how it is written, and counts its changes; the second one says up to which it has its size. */
const HEADER_BYTES = 100
const WRITE_VERSION_AT = 18
const CHANGES_AT = 24
const SCHEMA_AT = 40
const SIZED_AT = 92
const ROLLBACK_JOURNAL = 1

/** By the path of its file, each of a store that is closed. */
const closed = new Map<string, Connection>()
/** Paths of those whose worlds are over. */
const free: string[] = []

/** Opens the store of a directory; where there is none, an empty one. */
export function openWarm(dir: string): Store {
  return openStoreAlone(dir, path => {
    if (fs.statSync(path).size === 0) putStore(path, path, emptyStore())
    return openAt(path)
  })
}

let empty: Buffer | undefined

/** What a new store has, made once. */
function emptyStore(): Buffer {
  if (empty !== undefined) return empty
  const dir = fs.mkdtempSync(join(tmpdir(), 'svc-empty-store-'))
  openStoreAlone(dir).close()
  empty = fs.readFileSync(storePath(dir))
  fs.rmSync(dir, { recursive: true })
  return empty
}

/** Nothing uses the closed store of this directory any more. */
export function freeStore(dir: string): void {
  freeAt(storePath(dir))
}

/** One of another schema has nothing prepared that others need. */
function freeAt(path: string): void {
  const schema = closed.get(path)?.schema
  if (schema === emptyStore().readUInt32BE(SCHEMA_AT)) free.push(path)
  else takeClosed(path)?.connection.database.close()
}

/** Puts a file in place of the closed store at a path, whose connection goes to other worlds. */
export function replaceStore(path: string, file: string): void {
  const aside = `${path}.aside`
  fs.renameSync(path, aside)
  const spare = takeClosed(path)
  if (spare !== undefined) closed.set(aside, spare.connection)
  freeAt(aside)
  fs.renameSync(file, path)
}

/** Puts a store with this content at a path, in place of the one that was there and is at `previous` now. */
export function putStore(path: string, previous: string, bytes: Buffer): void {
  const spare = takeClosed(path) ?? takeFree()
  if (spare === undefined) {
    fs.writeFileSync(path, bytes, { mode: SECRET_FILE_MODE })
    return
  }
  fs.renameSync(spare.at === path ? previous : spare.at, path)
  closed.set(path, spare.connection)
  overwrite(path, bytes)
}

type Spare = { at: string; connection: Connection }

function takeClosed(at: string): Spare | undefined {
  const connection = closed.get(at)
  closed.delete(at)
  return connection && { at, connection }
}

/** One whose file is still there. */
function takeFree(): Spare | undefined {
  for (let at = free.pop(); at !== undefined; at = free.pop()) {
    const spare = takeClosed(at)
    if (spare !== undefined && fs.existsSync(at)) return spare
    spare?.connection.database.close()
  }
  return undefined
}

/** As a commit of another connection does, which every page that is kept in memory is older than. */
function overwrite(path: string, bytes: Buffer): void {
  const changes = headerOf(path).readUInt32BE(CHANGES_AT) + 1
  const header = Buffer.from(bytes.subarray(0, HEADER_BYTES))
  for (const at of [CHANGES_AT, SIZED_AT]) header.writeUInt32BE(changes, at)
  const file = fs.openSync(path, 'r+')
  try {
    fs.writeSync(file, header, 0, HEADER_BYTES, 0)
    fs.writeSync(file, bytes, HEADER_BYTES, bytes.length - HEADER_BYTES, HEADER_BYTES)
    fs.ftruncateSync(file, bytes.length)
  } finally {
    fs.closeSync(file)
  }
}

function headerOf(path: string): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  const file = fs.openSync(path, 'r')
  try {
    fs.readSync(file, header)
  } finally {
    fs.closeSync(file)
  }
  return header
}

/** Whether the file is the one of the connection, and nobody has opened it in another way. */
const isStill = ({ file }: Connection, path: string): boolean =>
  fs.statSync(path).ino === file && headerOf(path)[WRITE_VERSION_AT] === ROLLBACK_JOURNAL

function connectionTo(path: string): Connection {
  const found = takeClosed(path)?.connection
  if (found !== undefined && isStill(found, path)) {
    found.database.exec(TAKE)
    const schema = schemaIn(found.database)
    return found.schema === schema ? found : { ...found, schema, prepared: nothingPrepared() }
  }
  found?.database.close()
  const database = openDatabase(path, { isAlone: true })
  const file = fs.statSync(path).ino
  return { database, prepared: nothingPrepared(), schema: schemaIn(database), file }
}

const nothingPrepared = () => ({ arrays: new Map(), objects: new Map() })
const schemaIn = (database: Database): unknown =>
  database.prepare('PRAGMA schema_version').get()?.['schema_version']

/** The database of one node, which ends with it. */
function openAt(path: string): Database {
  const connection = connectionTo(path)
  let isOpen = true
  const use = (): Database => {
    if (!isOpen) throw Object.assign(new Error('database is not open'), { code: 'ERR_INVALID_STATE' })
    return connection.database
  }
  const opened: Pick<Database, 'isTransaction' | 'exec' | 'function' | 'prepare' | 'close'> = {
    get isTransaction() {
      return use().isTransaction
    },
    exec(sql) {
      if (WAITS.test(sql)) return
      if (OFTEN.has(sql)) opened.prepare(sql).run()
      else use().exec(sql)
    },
    function: (name: string, ...run: unknown[]) =>
      Reflect.apply(use().function, connection.database, [name, ...run]),
    prepare(sql, options = {}) {
      const database = use()
      const of = connection.prepared[options.returnArrays === true ? 'arrays' : 'objects']
      const known = of.get(sql)
      if (known !== undefined) return known
      const statement = database.prepare(sql, options)
      of.set(sql, statement)
      return statement
    },
    close() {
      if (use().isTransaction) connection.database.exec('ROLLBACK')
      isOpen = false
      connection.database.exec(LET_GO)
      closed.set(path, connection)
    },
  }
  return opened as Database
}
