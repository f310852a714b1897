/**
 * What a node holds at one moment, for an archive: keys, settings and a copy of the store. The copy is plain text, so it is
 * made in the data directory, under a name that every start removes, and loses that name before it is read.
 */
import * as fs from 'node:fs'
import { join } from 'node:path'
import { findFile, SECRET_FILE_MODE } from '../platform/files.ts'
import { isOutOfRoom } from '../platform/room.ts'
import { copyStoreFile, filesNamedIn } from '../store/copies.ts'
import { ArchiveRefused, bytesIn, type Entry } from './sealed.ts'

/** Keys and settings, those that are there. The token of the control interface is made anew on each machine. */
export const SMALL_FILES = ['identity.kel', 'identity.next', 'mailbox.keys', 'config.json']
export const STORE_FILE = 'interactions/store.db'
const KEY_FILES = ['identity.kel', 'identity.next', 'mailbox.keys']
const ATTEMPTS_MAX = 5
const COPY = 'store-copy.db.tmp-'

export type Snapshot = Disposable & { small: Entry[]; store: Entry; cids: string[] }

/** Keys and store of one moment: what the node changed in between is read once more. */
export function takeSnapshot(dir: string): Snapshot {
  const path = join(dir, `${COPY}${process.pid}`)
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const before = keysOf(dir)
    const copy = takeCopy(dir, path)
    const small = SMALL_FILES.flatMap(name => smallEntry(dir, name))
    if (copy === undefined) continue
    if (before === keysOf(dir)) return { small, ...copy, [Symbol.dispose]: () => fs.closeSync(copy.file) }
    fs.closeSync(copy.file)
  }
  throw new ArchiveRefused('the keys changed while they were being saved; try again')
}

/** An open copy without a name, so that nothing of it stays however this process ends; none when a start removed it. */
function takeCopy(dir: string, path: string) {
  removeCopies(dir)
  try {
    copyStore(join(dir, STORE_FILE), path)
    if (!fs.existsSync(path)) return undefined
    const cids = filesNamedIn(path)
    const file = fs.openSync(path, 'r')
    const store = { path: STORE_FILE, size: fs.fstatSync(file).size, bytes: bytesIn(file) }
    return { file, store, cids }
  } catch (error) {
    if (isOutOfRoom(error))
      throw new ArchiveRefused(
        `there is not enough room in ${dir} for the copy of the store that an archive is made from (${mebibytes(join(dir, STORE_FILE))} MiB); free some`,
        { cause: error },
      )
    throw error
  } finally {
    fs.rmSync(path, { force: true })
  }
}

const mebibytes = (path: string): string => (fs.statSync(path).size / (1024 * 1024)).toFixed(1)

/** Removes what a backup that was killed left; one that runs takes its copy again. */
function removeCopies(dir: string): void {
  for (const name of fs.readdirSync(dir))
    if (name.startsWith(COPY)) fs.rmSync(join(dir, name), { force: true })
}

const keysOf = (dir: string) =>
  KEY_FILES.map(name => findFile(join(dir, name))?.toString('base64') ?? '').join('\n')

function smallEntry(dir: string, name: string): Entry[] {
  const bytes = findFile(join(dir, name))
  return bytes === undefined ? [] : [{ path: name, size: bytes.length, bytes: [bytes] }]
}

/** One moment of the store, also while a node writes to it. */
function copyStore(path: string, copy: string): void {
  if (!fs.existsSync(path)) throw new ArchiveRefused(`${path} is missing; there is nothing to save`)
  fs.closeSync(fs.openSync(copy, 'wx', SECRET_FILE_MODE))
  copyStoreFile(path, copy)
}
