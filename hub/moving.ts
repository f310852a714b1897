/**
 * Moves a stopped hub: its rows from the file in its data directory to a database, or back. Until the new place has all of
 * it and was compared, the old one is the hub; a marker keeps the directory from being served in between.
 */
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { RELEASE } from '../protocol/build-info.ts'
import { equal, fromHex, toHex } from '../protocol/encoding/bytes.ts'
import type { Timers } from '../protocol/timers.ts'
import { beginAnew } from './cluster/began.ts'
import { BEAT_SETTING, LINE_SETTING } from './cluster/continuity.ts'
import { requireAlone } from './cluster/memory.ts'
import { HISTORY_SETTING } from './cluster/one-history.ts'
import { readIdentity } from './core/identity.ts'
import { MOVING_MARKER, SECRET_SETTING } from './data-dir.ts'
import { lockDirectory } from './directory-lock.ts'
import { engine } from './engine.ts'
import { faultPoint } from './faults.ts'
import { syncFolder } from './files.ts'
import { bucketAt, claimFiles, FILES_SETTING, requireFiles } from './long-mail.ts'
import { claimOf, HUB_SETTING, keepSecret, readSecret, requireOwn, SECRET_FILE } from './over-database.ts'
import type { DatabasePlace } from './places-config.ts'
import { type BlobPlace, type Blobs, blobPlaces } from './store/blob-port.ts'
import { copyBlobs } from './store/blobs/copy.ts'
import { BlobFolder } from './store/blobs/folder.ts'
import { copyRows, differsIn, heldIn, type TableHeld } from './store/moving.ts'
import type { MovedRows, MovedTable } from './store/moving-port.ts'
import { StoreRefused } from './store/port.ts'
import { writeSetting } from './store/postgres/accounts.ts'
import type { Connections, Queries } from './store/postgres/connections.ts'
import { migrate } from './store/postgres/migrate.ts'
import { movedRowsOver, movedTables } from './store/postgres/moving.ts'
import { watchedHubsIn } from './store/postgres/watched-chains.ts'
import { connectionsTo, linkTo } from './store/postgres/way.ts'
import { openMovedIn, openMovedOut } from './store/sqlite/moving.ts'

/** What a move did; `notes` say what stays where it was. */
export type Moved = { to: 'database' | 'file'; tables: number; rows: number; ms: number; notes: string[] }

export type Moving = {
  directory: string
  database: DatabasePlace
  /** What its operator types to go on. */
  command: string
  timers: Timers
  now: () => number
  random: (count: number) => Uint8Array
}

/** Settings that belong to a place of rows: they stay where they are. */
const STAYS: ReadonlySet<string> = new Set([
  ...[SECRET_SETTING, HUB_SETTING, FILES_SETTING, 'release'],
  ...[LINE_SETTING, BEAT_SETTING, HISTORY_SETTING],
])
type FilesPlace = DatabasePlace['files']
/** Stands for the hub in a database whose rows went to a file. */
const GONE = 'moved'
const DRAFT = `${engine.files.rows}.moving`

/** Moves the rows of a data directory into a database that has none. */
export async function moveToDatabase(moving: Moving): Promise<Moved> {
  return await whileAlone(moving, async connections => {
    const { directory, timers } = moving
    const startedMs = timers.monotonic()
    const path = join(directory, engine.files.rows)
    const file = openMovedOut(path)
    try {
      const secret = fromHex(settingIn(file.setting(SECRET_SETTING), SECRET_SETTING), SECRET_SETTING)
      const claim = claimOf(readIdentity(directory).aid, secret)
      await copyFiles(directory, moving.database.files, moving)
      const held = await connections.transaction(
        async db => {
          const tables = await movedTables(db)
          const to = movedRowsOver(db)
          if (await isDone(db, claim)) return await heldIn(tables, to, STAYS)
          await refuseRows(db, tables)
          const held = await copyCompared(tables, file, to)
          await writeSetting(db, HUB_SETTING, claim)
          // what was signed for the process that served the file works no more
          await beginAnew(db)
          faultPoint('hub.moving.before-commit')
          return held
        },
        { patient: true },
      )
      faultPoint('hub.moving.after-commit')
      const { files } = moving.database
      if (files !== undefined) await claimFiles(connections, { place: files, isGiven: true }, moving.random)
      keepOnce(directory, secret)
      file.close()
      renameSync(path, `${path}.moved`)
      for (const beside of engine.files.beside) rmSync(join(directory, beside), { force: true })
      return { ...done('database', held, timers.monotonic() - startedMs), notes: leftIn(directory) }
    } finally {
      file.close()
    }
  })
}

/** Moves the rows of a database into the data directory of one of its processes. */
export async function moveToFile(moving: Moving): Promise<Moved> {
  return await whileAlone(moving, async connections => {
    const { directory, timers } = moving
    const startedMs = timers.monotonic()
    const [path, draft] = [join(directory, engine.files.rows), join(directory, DRAFT)]
    const secret = readSecret(directory)
    const claim = claimOf(readIdentity(directory).aid, secret)
    const { files } = moving.database
    await requireFiles(connections, { place: files ?? directory, isGiven: files !== undefined })
    await copyFiles(files, directory, moving)
    const held = await connections.transaction(
      async db => {
        const tables = await movedTables(db)
        const from = movedRowsOver(db)
        if (existsSync(path)) return await heldIn(tables, from, STAYS)
        await requireOwn(db, directory)
        for (const name of [DRAFT, `${DRAFT}-wal`, `${DRAFT}-shm`])
          rmSync(join(directory, name), { force: true })
        const file = openMovedIn(draft, RELEASE)
        try {
          const held = await copyCompared(tables, from, file)
          file.putSetting(SECRET_SETTING, toHex(secret))
          file.commit()
          return held
        } finally {
          file.close()
        }
      },
      { patient: true },
    )
    if (!existsSync(path)) {
      faultPoint('hub.moving.before-rename')
      renameSync(draft, path)
      await syncFolder(directory)
    }
    faultPoint('hub.moving.after-rename')
    await writeSetting(connections, HUB_SETTING, `${GONE} ${claim}`)
    rmSync(join(directory, SECRET_FILE), { force: true })
    const notes = await leftInDatabase(connections)
    return { ...done('file', held, timers.monotonic() - startedMs), notes }
  })
}

/** What stays in a data directory whose rows went to a database: records of other hubs that are watched from there. */
function leftIn(directory: string): string[] {
  const { watched } = engine.files
  if (!existsSync(join(directory, watched))) return []
  return [
    `${watched} stays in ${directory} as evidence and is read no more; svc-hub witness run <url> --store <URL> begins at record 0, and keeps to its signatures that the watched hub still shows`,
  ]
}

/** And what stays in a database. */
async function leftInDatabase(db: Queries): Promise<string[]> {
  const hubs = await watchedHubsIn(db)
  if (hubs === 0) return []
  const { watched } = engine.files
  return [
    `the records of ${hubs} watched ${hubs === 1 ? 'hub' : 'hubs'} stay in the database as evidence; svc-hub witness run <url> without --store goes on where ${watched} ends, else begins at record 0`,
  ]
}

/** Works while no process serves the hub; a marker says so until it has ended. */
async function whileAlone(
  { directory, database, command }: Moving,
  work: (connections: Connections) => Promise<Moved>,
): Promise<Moved> {
  const lock = lockDirectory(directory)
  const connections = connectionsTo(database)
  const link = await linkTo(database)
  try {
    await migrate(connections, { release: RELEASE })
    await requireAlone(link)
    mark(directory, command)
    const moved = await work(connections)
    rmSync(join(directory, MOVING_MARKER), { force: true })
    await syncFolder(directory)
    return moved
  } finally {
    await link.close()
    await connections.close()
    lock.release()
  }
}

function mark(directory: string, command: string): void {
  const file = openSync(join(directory, MOVING_MARKER), 'w', 0o600)
  writeSync(file, `${command}\n`)
  fsyncSync(file)
  closeSync(file)
}

/** Copies all rows, reads them again from where they went, and refuses what is not the same. */
async function copyCompared(tables: MovedTable[], from: MovedRows, to: MovedRows): Promise<TableHeld[]> {
  const read = await copyRows(tables, { from, to, stays: STAYS })
  const wrong = differsIn(read, await heldIn(tables, to, STAYS))
  if (wrong === undefined) return read
  throw new StoreRefused(`table ${wrong} is not the same after it was copied; nothing was moved`)
}

const readHub = async (db: Queries): Promise<string | undefined> =>
  (await db.one<{ value: string }>('SELECT value FROM setting WHERE name = $1', HUB_SETTING))?.value

/** An earlier run may have come to its commit. */
const isDone = async (db: Queries, claim: string): Promise<boolean> => (await readHub(db)) === claim

/** Refuses a database that holds rows of any hub; what once went to a file is replaced. */
async function refuseRows(db: Queries, tables: readonly MovedTable[]): Promise<void> {
  const hub = await readHub(db)
  if (hub !== undefined && !hub.startsWith(`${GONE} `))
    throw new StoreRefused(`the database belongs to hub ${hub.split(' ')[0]}; give one that holds nothing`)
  await db.run(`TRUNCATE ${tables.map(({ name }) => `"${name}"`).join(', ')}`)
}

/** Long mail that lies outside the database goes along. */
async function copyFiles(from: FilesPlace, to: FilesPlace, { timers, now }: Moving): Promise<void> {
  if (from === undefined || to === undefined || from === to) return
  const blobsAt = (files: NonNullable<FilesPlace>, place: BlobPlace): Blobs =>
    typeof files === 'string' ? new BlobFolder(files, place) : bucketAt(files, place, { timers, now })
  for (const place of Object.values(blobPlaces)) {
    const target = blobsAt(to, place)
    // what an interrupted run began is in the way of this one
    await target.collect(now(), async () => [])
    await copyBlobs(blobsAt(from, place), target)
  }
}

function keepOnce(directory: string, secret: Uint8Array): void {
  if (!existsSync(join(directory, SECRET_FILE))) keepSecret(directory, secret)
  else if (!equal(readSecret(directory), secret))
    throw new StoreRefused(`${join(directory, SECRET_FILE)} is that of another hub; take it away`)
}

function settingIn(value: string | undefined, name: string): string {
  if (value === undefined)
    throw new StoreRefused(`the store has no ${name}; start the hub once, then move it`)
  return value
}

const done = (to: Moved['to'], held: readonly TableHeld[], ms: number): Omit<Moved, 'notes'> => ({
  to,
  tables: held.length,
  rows: held.reduce((sum, { rows }) => sum + rows, 0),
  ms: Math.round(ms),
})
