/** Where the long mail of a hub over a database lies: in one folder or bucket for all of its processes, which the database notes. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { toHex } from '../protocol/encoding/bytes.ts'
import { systemCode } from '../protocol/encoding/errors.ts'
import type { Timers } from '../protocol/timers.ts'
import type { BucketPlace } from './bucket-config.ts'
import { type BlobPlace, type Blobs, blobPlaces } from './store/blob-port.ts'
import { BlobFolder, makeFolders } from './store/blobs/folder.ts'
import { BlobBucket } from './store/blobs/s3.ts'
import { StoreRefused } from './store/port.ts'
import { madeOnce } from './store/postgres/accounts.ts'
import type { Queries } from './store/postgres/connections.ts'
import { settingIn } from './store/postgres/restored.ts'
import { SetupRefused } from './store/setup-refused.ts'

/** `given`: its operator named it; otherwise it is the data directory of the process. */
export type FilesPlace = { place: string | BucketPlace; isGiven: boolean }
type Outside = { timers: Timers; now: () => number }

/** Where long mail of all processes lies, as the database notes it. */
export const FILES_SETTING = 'files'
/** Tells a folder for long mail from others. */
const FOLDER_MARK = 'folder-id'
const FOLDER_MARK_BYTES = 16
const FOLDER_MARKED = /^[0-9a-f]{32}$/

/** Large mail of one kind in a bucket. */
export const bucketAt = (bucket: BucketPlace, place: BlobPlace, { timers, now }: Outside): Blobs =>
  new BlobBucket(bucket, place, { fetch, timers, now })

/** What is wrong with a place; `isAway` where it may be there again without another configuration. */
export type Misplaced = { found: string; next: string; isAway: boolean }

const NAME_SAME = 'give each process the same --files'

/** Compares a place with what the database notes; undefined where it is that, or where nothing is noted yet. */
export function misplaced({ place, isGiven }: FilesPlace, noted: string | undefined): Misplaced | undefined {
  if (noted === undefined) return undefined
  const held = typeof place === 'string' ? markIn(place) : bucketMark(place)
  if (held === noted) return undefined
  if (typeof place !== 'string' || !isGiven || held !== undefined || !FOLDER_MARKED.test(noted))
    return {
      found: 'long mail of this hub lies in another place than this process was given',
      next: NAME_SAME,
      isAway: false,
    }
  return {
    found: existsSync(place)
      ? `${place} is not the folder with the long mail of this hub, as where its disk is not mounted`
      : `the folder with the long mail of this hub is away: there is no ${place}`,
    next: `mount what belongs there, or ${NAME_SAME}`,
    isAway: true,
  }
}

/** The first process says where long mail lies; one with another place would not find that of the others. */
export async function claimFiles(
  db: Queries,
  files: FilesPlace,
  random: (count: number) => Uint8Array,
): Promise<void> {
  await requireFiles(db, files)
  const { place } = files
  if (typeof place !== 'string') return refuseMisplaced(files, await noteMark(db, bucketMark(place)))
  for (const kind of Object.values(blobPlaces)) makeFolders(place, kind)
  refuseMisplaced(files, await noteMark(db, madeMark(place, random)))
}

const noteMark = (db: Queries, mark: string): Promise<string> => madeOnce(db, FILES_SETTING, mark)

/** Refuses a place that is not the one that the database notes. */
export async function requireFiles(db: Queries, files: FilesPlace): Promise<void> {
  refuseMisplaced(files, await settingIn(db, FILES_SETTING))
}

function refuseMisplaced(files: FilesPlace, mark: string | undefined): void {
  const wrong = misplaced(files, mark)
  if (wrong !== undefined)
    throw new (wrong.isAway ? StoreRefused : SetupRefused)(`${wrong.found}; ${wrong.next}`)
}

const bucketMark = ({ endpoint, bucket, prefix }: BucketPlace): string => `${endpoint}/${bucket}/${prefix}`

function markIn(folder: string): string | undefined {
  try {
    return readFileSync(join(folder, FOLDER_MARK), 'utf8').trim()
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '')) return undefined
    throw error
  }
}

function madeMark(folder: string, random: (count: number) => Uint8Array): string {
  const path = join(folder, FOLDER_MARK)
  try {
    writeFileSync(path, `${toHex(random(FOLDER_MARK_BYTES))}\n`, { flag: 'wx', mode: 0o600, flush: true })
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error
  }
  return readFileSync(path, 'utf8').trim()
}

type BlobsOptions = Outside & { onBroken: (error: Error) => void }

/** Large mail of one kind, wherever it lies. */
export const sharedBlobs = (
  { place }: FilesPlace,
  kind: BlobPlace,
  { onBroken, ...outside }: BlobsOptions,
): Blobs =>
  typeof place === 'string'
    ? new BlobFolder(place, kind, onBroken, { isShared: true })
    : bucketAt(place, kind, outside)
