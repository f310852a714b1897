/** The data directory of a hub: made private, locked, with identity, store and blobs opened; and all of it closed. */
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import { RELEASE } from '../protocol/build-info.ts'
import { fromHex, toHex } from '../protocol/encoding/bytes.ts'
import { systemCode } from '../protocol/encoding/errors.ts'
import type { Timers } from '../protocol/timers.ts'
import { lastStoredMs } from './core/clocks.ts'
import {
  ensureIdentity,
  type HubIdentity,
  IDENTITY_FILE,
  NEXT_FILE,
  settleRotation,
} from './core/identity.ts'
import { memoryInProcess } from './core/in-process/memory.ts'
import { type AdmissionMode, MODE_SETTING } from './core/membership/admission.ts'
import type { Memory } from './core/ports/memory.ts'
import { closeToOthers, isEnterable, makeWritable, openingUp, refuseRoot } from './directory-access.ts'
import { LOCK_FILE, lockDirectory } from './directory-lock.ts'
import { engine } from './engine.ts'
import { givingBack, isOwn, missingFolders, ownerOf } from './files.ts'
import { type BlobPlace, type Blobs, blobPlaces } from './store/blob-port.ts'
import { BlobFolder } from './store/blobs/folder.ts'
import type { Migrated } from './store/engine-port.ts'
import type { DatabaseFigures } from './store/operator-port.ts'
import {
  EngineFault,
  type GroupCommitted,
  isFull,
  type Store,
  type StoreBroken,
  StoreFull,
  StoreRefused,
} from './store/port.ts'
import { SetupRefused } from './store/setup-refused.ts'
import type { Threads } from './store/threads.ts'

/** A hub over a database has its secret in a file, and no rows. */
export const SECRET_FILE = 'secret'
export const SECRET_SETTING = 'pow_secret'
/** Lies in a data directory while a backup is being restored into it. */
export const RESTORE_MARKER = 'restoring'
/** Lies in a data directory until everything of a new hub is on the disk. */
export const CREATING_MARKER = 'creating'
/** Lies in a data directory while its rows are being moved to another place, or from there. */
export const MOVING_MARKER = 'moving'
/** Without these a hub cannot go on; what another hub would be made of. */
const { rows: ROWS_FILE, beside: BESIDE_ROWS } = engine.files
const NEEDED = [IDENTITY_FILE, ROWS_FILE]
const TRACES = [
  ...NEEDED,
  NEXT_FILE,
  ...BESIDE_ROWS,
  ...Object.values(blobPlaces).map(({ folder }) => folder),
]
const SECRET_BYTES = 32

export type DataDirectory = {
  identity: HubIdentity
  /** Whether this opening created the identity. */
  created: boolean
  store: Store
  blobs: Blobs
  openBlobs: Blobs
  secret: Uint8Array
  /** Settings of this directory alone. */
  own: OwnSettings
  /** What the processes of this hub remember; asked for once, and closed with the rest. */
  remember(): Promise<Remembered>
  /** `isRefused`: the start came to nothing, and leaves nothing of its own. */
  close(isRefused?: boolean): Promise<void>
}

export type OwnSettings = Pick<Store, 'setting' | 'putSetting'>

/** `now`: the clock by which it judges. `trouble`: why this process should get no requests now. `database`: where the rows lie in one. */
export type Remembered = {
  memory: Memory
  now: () => number
  trouble(): string | undefined
  /** Why the database is away, where more is known than that. */
  away?(): string | undefined
  /** Lets one machine at a time rotate the key of the hub; rejects where its key history is not that of the hub. */
  rotating<T>(rotate: () => T): Promise<T>
  database?: () => Promise<DatabaseFigures>
}

export type DataDirectoryOptions = {
  directory: string
  now: () => number
  timers: Timers
  random: (count: number) => Uint8Array
  onBroken: (error: StoreBroken) => void
  onLocked?: (isLocked: boolean) => void
  /** The database is away, and why; or it is back. */
  onAway?: ((why: string | undefined) => void) | undefined
  /** Why the database takes no new connection of this process, while those that are there go on; or it does again. */
  onDenied?: ((why: string | undefined) => void) | undefined
  /** The database was restored, promoted or copied; from when on it may lack something, if it may. */
  onRestored?: ((restored: { lostSinceMs: number | undefined }) => void) | undefined
  /** How far this machine's clock is ahead of the database's, where it is wrong; or it is right again. */
  onClockOff?: ((aheadMs: number | undefined) => void) | undefined
  /** Why the key history on this machine is not that of the hub, and what to do; or it is again. */
  onHistory?: ((mend: string | undefined) => void) | undefined
  /** A newer build brought the database to this schema while this one serves. */
  onNewerSchema?: ((schema: number) => void) | undefined
  /** Changes in one transaction at most; 1 commits each alone. */
  groupMax?: number
  /** The database file grows no further. */
  bytesMax?: number | undefined
  onGroup?: ((group: GroupCommitted) => void) | undefined
  threads?: Threads | undefined
  /** A store of an older schema is refused, not migrated. */
  keepsOlder?: boolean
  onMigrated?: ((migrated: Migrated) => void) | undefined
  /** The room that is kept for a full disk, in bytes, is not there. */
  onNoReserve?: (bytes: number) => void
  /** Only a hub that is there already is opened. */
  existing?: boolean | undefined
  /** Who may register at a hub that is made here; closed where nothing is said. */
  admission?: AdmissionMode | undefined
}

/** Opens a data directory for this process alone, creating what is missing. */
export async function openDataDirectory(options: DataDirectoryOptions): Promise<DataDirectory> {
  const { directory, now, random } = options
  if (options.existing === true) requireHub(directory)
  const made = missingFolders(directory)
  makeWritable(directory)
  refuseRoot(directory)
  refuseForeign(directory)
  const lock = lockDirectory(directory, made)
  let store: Store | undefined
  try {
    if (existsSync(join(directory, RESTORE_MARKER)))
      throw new SetupRefused(
        `${directory} contains an unfinished restore; run it again: svc-hub restore <backup> --data-dir ${directory}`,
      )
    refuseMoving(directory)
    const parts = partsOf(directory)
    refuseUnusable(parts)
    const marker = join(directory, CREATING_MARKER)
    if (parts.state === 'none') {
      closeToOthers(directory)
      closeSync(openSync(marker, 'w', 0o600))
    }
    const { identity, created } = ensureIdentity(directory, now, random)
    settleRotation(directory, identity.kel)
    const needsHeld = parts.state === 'whole'
    const watched = [join(directory, LOCK_FILE)]
    const opened = await engine.open({ ...options, needsHeld, release: RELEASE, watched })
    store = opened
    const blobsAt = (place: BlobPlace) => new BlobFolder(directory, place, error => void opened.fail(error))
    const blobs = blobsAt(blobPlaces.envelopes)
    const openBlobs = blobsAt(blobPlaces.letters)
    const secret = await ensureSecret(opened, random)
    if ((await opened.setting(MODE_SETTING)) === undefined)
      await opened.putSetting(MODE_SETTING, options.admission ?? 'closed')
    rmSync(marker, { force: true })
    const close = async (isRefused?: boolean): Promise<void> => {
      await opened.close()
      if (isRefused === true) lock.undo()
      else lock.release()
    }
    const remember = () => rememberAlone(opened, options)
    return { identity, created, store: opened, own: opened, blobs, openBlobs, secret, remember, close }
  } catch (error) {
    await store?.close()
    lock.undo()
    throw inWords(error, directory)
  }
}

/** Refuses a hub whose rows may lie in either of two places. */
export function refuseMoving(directory: string): void {
  const marker = join(directory, MOVING_MARKER)
  if (!existsSync(marker)) return
  throw new SetupRefused(
    `the rows of ${directory} are on their way to another place, which was interrupted; run it again: ${readFileSync(marker, 'utf8').trim()}`,
  )
}

/** One process has a data directory, so its memory is that of the hub. */
async function rememberAlone(
  store: Store,
  { now, random }: Pick<DataDirectoryOptions, 'now' | 'random'>,
): Promise<Remembered> {
  const memory = memoryInProcess({ store, random, nowMs: now(), lastMs: await lastStoredMs(store) })
  return { memory, now, trouble: () => undefined, rotating: async rotate => rotate() }
}

/** Refuses a directory without a whole hub, such as the empty one where a disk was to be mounted. */
function requireHub(directory: string): void {
  const parts = partsOf(directory)
  refuseUnusable(parts)
  if (parts.state !== 'whole')
    throw new StoreRefused(
      `there is no hub in ${directory}, and --existing makes none; mount the disk that holds it, or make a new hub with: svc-hub init --data-dir ${directory}`,
    )
}

/** `isSetup`: nothing of the hub is lost, and its operator has to change a right or a setting. */
export type Parts =
  | { state: 'none' | 'new' | 'whole' }
  | { state: 'unusable'; isSetup: boolean; found: string; next: string }

/** Looks at a directory; `new` says that a first start there did not come to its end. */
export function partsOf(directory: string): Parts {
  if (!isEnterable(directory))
    return {
      state: 'unusable',
      isSetup: true,
      found: `this user cannot enter ${directory}: permission denied`,
      next: openingUp(directory),
    }
  if (existsSync(join(directory, CREATING_MARKER))) return { state: 'new' }
  const missing = NEEDED.filter(name => isMissing(join(directory, name)))
  if (missing.length === 0) return { state: 'whole' }
  if (!TRACES.some(name => existsSync(join(directory, name)))) return { state: 'none' }
  if (missing.includes(ROWS_FILE) && existsSync(join(directory, SECRET_FILE)))
    return {
      state: 'unusable',
      isSetup: true,
      found: `${directory} is that of a hub whose rows lie in a database`,
      next: 'name the database with --store (SVC_HUB_STORE), or move the rows here: svc-hub migrate --to file --store <URL>',
    }
  const verb = missing.length === 1 ? 'is' : 'are'
  const found = `${missing.join(' and ')} ${verb} missing from ${directory}, which holds the rest of a hub`
  const next = missing.includes(ROWS_FILE)
    ? 'restore a backup, because a new store would be another hub: svc-hub restore <backup> --data-dir <new folder>'
    : `copy ${IDENTITY_FILE} there from a backup; without it this would be another hub`
  return { state: 'unusable', isSetup: false, found, next }
}

/** A database that holds nothing is as good as none. */
function isMissing(path: string): boolean {
  return !existsSync(path) || statSync(path).size === 0
}

/** Refuses a directory that lost a part of its hub, or that this user cannot look into. */
export function refuseUnusable(parts: Parts): void {
  if (parts.state !== 'unusable') return
  throw new (parts.isSetup ? SetupRefused : StoreRefused)(`${parts.found}; ${parts.next}`)
}

/** What the engine says of a store that does not open, with what to do. */
function inWords(error: unknown, directory: string): unknown {
  if (isFull(error)) return new StoreFull(`the disk of ${directory} is full; free some room, then try again`)
  return error instanceof EngineFault ? unusable(directory, error) : error
}

const RESTORE =
  'keep this directory aside, and restore a backup: svc-hub restore <backup> --data-dir <new folder>'

/** The refusal of a store that turned out to be damaged, or on a disk that fails. */
export const unusable = (directory: string, { message }: Error): StoreRefused =>
  new StoreRefused(`${join(directory, ROWS_FILE)} cannot be used: ${message}; ${RESTORE}`)

/** What to do about a store that failed under a hub that served. */
export const mendOfFailed = (directory: string): string =>
  `look whether ${ROWS_FILE} is damaged: svc-hub doctor --data-dir ${directory} – if it is, ${RESTORE} – if not, check the disk`

/** What each file of a hub must allow to the user that works on it. */
const ACCESS: Record<string, number> = {
  [LOCK_FILE]: constants.R_OK | constants.W_OK,
  ...Object.fromEntries([ROWS_FILE, ...BESIDE_ROWS].map(name => [name, constants.R_OK | constants.W_OK])),
  [IDENTITY_FILE]: constants.R_OK,
  [NEXT_FILE]: constants.R_OK,
  ...Object.fromEntries(
    Object.values(blobPlaces)
      .flatMap(({ folder, temporary }) => [folder, temporary])
      .map(name => [name, constants.R_OK | constants.W_OK | constants.X_OK]),
  ),
}

/** A file that this user can't work with, such as one that a command run as root left, and what mends it. */
export function foreignFile(directory: string): { found: string; next: string } | undefined {
  const foreign = Object.keys(ACCESS).find(name => !allows(join(directory, name), ACCESS[name]))
  if (foreign === undefined) return undefined
  const path = join(directory, foreign)
  if (isOwn(path))
    return {
      found: `this user cannot read and write ${path}, although it belongs to it`,
      next: `chmod -R u+rwX ${directory}`,
    }
  return {
    found: `this user cannot read and write ${path}, which belongs to user ${ownerOf(path)}`,
    next: givingBack(directory),
  }
}

function allows(path: string, access: number | undefined): boolean {
  try {
    accessSync(path, access)
    return true
  } catch (error) {
    return systemCode(error) === 'ENOENT'
  }
}

/** Refuses, in words, files that this user can't work with. */
export function refuseForeign(directory: string): void {
  const foreign = foreignFile(directory)
  if (foreign !== undefined) throw new SetupRefused(`${foreign.found}; ${foreign.next}`)
}

async function ensureSecret(store: Store, random: (count: number) => Uint8Array): Promise<Uint8Array> {
  const held = await store.setting(SECRET_SETTING)
  if (held !== undefined) return fromHex(held, SECRET_SETTING)
  const secret = random(SECRET_BYTES)
  await store.putSetting(SECRET_SETTING, toHex(secret))
  return secret
}
