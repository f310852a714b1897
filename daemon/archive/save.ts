/**
 * Saving a data directory as it stands at one moment, while its node runs or not: the store as one snapshot, the files that
 * it names, keys and settings. The evidence file is left out, because the store holds every record of it. An export also
 * closes the directory, so that the identity lives where the archive is imported and nowhere else.
 */
import * as fs from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { RELEASE } from '../../protocol/build-info.ts'
import { toHex } from '../../protocol/encoding/bytes.ts'
import { systemCode, wordsOf } from '../../protocol/encoding/errors.ts'
import { present } from '../../protocol/encoding/present.ts'
import { isAlive } from '../home/home.ts'
import { lockDirectory } from '../home/lock.ts'
import { MOVED_FILE, markMoved, requireNotMoved } from '../home/moved.ts'
import { peekLog } from '../identity/identity.ts'
import { renameDurably, syncDirectory } from '../platform/files.ts'
import { isOutOfRoom } from '../platform/room.ts'
import { noteBackup } from './last-backup.ts'
import {
  type ArchiveKind,
  ArchiveRefused,
  bytesOf,
  type COST,
  type Entry,
  readArchive,
  readHead,
  writeArchive,
} from './sealed.ts'
import { takeSnapshot } from './snapshot.ts'

export const ATTACHMENTS_FOLDER = 'interactions/attachments'
const DRAFT_BYTES = 6

export type Saved = { aid: string; path: string; bytes: number; files: number; madeAtMs: number }
/** `cost`: of a guess at the passphrase, which tests lower. */
export type SaveOptions = {
  dir: string
  path: string
  passphrase: string
  now: () => number
  random: (length: number) => Uint8Array
  cost?: typeof COST
}

/** Refuses what could not be saved, before anybody is asked for a passphrase. */
export function requireSavable(dir: string, path: string): string {
  requireNotMoved(dir)
  const aid = peekLog(dir)?.aid
  if (aid === undefined)
    throw new ArchiveRefused(
      `there is no identity in ${dir}; name another one with --id, or make one with: svc up`,
    )
  if (fs.existsSync(path)) throw new ArchiveRefused(`${path} already exists; choose a new file`)
  return aid
}

/** Saves a node that goes on here. */
export async function backup(options: SaveOptions): Promise<Saved> {
  const saved = await write('backup', options, () => {})
  noteBackup(options.dir, saved.madeAtMs)
  return saved
}

/** Saves a stopped node that goes on elsewhere: from then on this directory starts no more. */
export async function exportNode(options: SaveOptions): Promise<Saved> {
  using _lock = lockDirectory(options.dir, 'command')
  // closed before the archive has its name: there is never one beside a node that starts
  return await write('export', options, saved =>
    markMoved(options.dir, { atMs: saved.madeAtMs, archive: saved.path }),
  )
}

async function write(
  kind: ArchiveKind,
  { dir, path: given, passphrase, now, random, cost }: SaveOptions,
  beforeNamed: (saved: Saved) => void,
): Promise<Saved> {
  const path = resolve(given)
  const aid = requireSavable(dir, path)
  removeDrafts(dirname(path), aid)
  const draft = `${path}.tmp-${process.pid}-${toHex(random(DRAFT_BYTES))}`
  const madeAtMs = now()
  using _draft = removedAtSignals(draft)
  try {
    using snapshot = takeSnapshot(dir)
    const entries = [...snapshot.small, snapshot.store, ...attachmentEntries(dir, snapshot.cids)]
    const head = { kind, aid, madeAtMs, release: RELEASE }
    await writeArchive(draft, passphrase, head, entries, { random, ...present({ cost }) })
    await requireReadable(draft, passphrase, entries.length)
    const bytes = fs.statSync(draft).size
    const saved = { aid, path, bytes, files: snapshot.cids.length, madeAtMs }
    beforeNamed(saved)
    renameDurably(draft, path)
    return saved
  } catch (error) {
    fs.rmSync(draft, { force: true })
    throw inWords(error, path)
  }
}

const DRAFT = /\.tmp-(\d+)-[0-9a-f]{12}$/

/** Removes what a backup of this identity that was killed left beside its target. */
function removeDrafts(folder: string, aid: string): void {
  if (!fs.existsSync(folder)) return
  for (const name of fs.readdirSync(folder)) {
    const [, pid] = DRAFT.exec(name) ?? []
    const path = join(folder, name)
    if (pid !== undefined && !isAlive(Number(pid)) && isOf(path, aid)) fs.rmSync(path, { force: true })
  }
}

function isOf(path: string, aid: string): boolean {
  try {
    return fs.statSync(path).size === 0 || readHead(path).aid === aid
  } catch {
    return false
  }
}

/** A signal that ends this process takes the unfinished archive along. */
function removedAtSignals(draft: string): Disposable {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  const release = () => {
    for (const signal of signals) process.off(signal, end)
  }
  const end = (signal: NodeJS.Signals) => {
    fs.rmSync(draft, { force: true })
    release()
    process.kill(process.pid, signal)
  }
  for (const signal of signals) process.on(signal, end)
  return { [Symbol.dispose]: release }
}

function inWords(error: unknown, path: string): unknown {
  if (isOutOfRoom(error))
    return new ArchiveRefused(`there is not enough room for ${path}; free some, or choose another place`)
  if (systemCode(error) === undefined) return error
  return new ArchiveRefused(`${path} cannot be written: ${wordsOf(error)}; choose another place`, {
    cause: error,
  })
}

/** What cannot be opened again never gets the name of an archive. */
async function requireReadable(draft: string, passphrase: string, count: number): Promise<void> {
  let read = 0
  for await (const { bytes } of readArchive(draft, passphrase)) {
    for await (const _ of bytes);
    read += 1
  }
  if (read !== count) throw new ArchiveRefused('the archive could not be read again; try again')
}

/** Files that are here; one that never arrived is named by the store all the same. */
function attachmentEntries(dir: string, cids: readonly string[]): Entry[] {
  return cids.flatMap(cid => {
    const path = join(dir, ATTACHMENTS_FOLDER, cid)
    return fs.existsSync(path) ? [fileEntry(`${ATTACHMENTS_FOLDER}/${cid}`, path)] : []
  })
}

const fileEntry = (path: string, file: string): Entry => ({
  path,
  size: fs.statSync(file).size,
  bytes: bytesOf(file),
})

/** Lets a directory whose identity was exported start again: the archive was never imported, which only its owner knows. */
export function undoExport(dir: string): void {
  using _lock = lockDirectory(dir, 'command')
  if (!fs.existsSync(join(dir, MOVED_FILE)))
    throw new ArchiveRefused(`the identity in ${dir} was not exported; it starts with: svc up`)
  fs.rmSync(join(dir, MOVED_FILE))
  syncDirectory(dir)
}
