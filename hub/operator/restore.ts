/**
 * A backup looked at, and made a data directory again. Nothing is overwritten: the directory must be empty, but for
 * what a restore that was killed left there. What comes out is a hub of the past, so floors and message ids are raised
 * before it may serve.
 */
import { closeSync, existsSync, openSync, readdirSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { RELEASE } from '../../protocol/build-info.ts'
import { systemCode, systemFault } from '../../protocol/encoding/errors.ts'
import { CLOCK_SETTING } from '../core/clocks.ts'
import { hasNextKey, IDENTITY_FILE, IdentityRefused, NEXT_FILE, readIdentity } from '../core/identity.ts'
import { RESTORE_MARKER } from '../data-dir.ts'
import { refuseRoot } from '../directory-access.ts'
import { LOCK_FILE, lockDirectory } from '../directory-lock.ts'
import { engine } from '../engine.ts'
import { makeFolder, syncFolder } from '../files.ts'
import { blobPlaces } from '../store/blob-port.ts'
import { type Inspection, newerBuild } from '../store/engine-port.ts'
import { isFull, StoreRefused } from '../store/port.ts'
import {
  copyFile,
  DATABASE_COPY,
  digestFile,
  type FileEntry,
  type Manifest,
  readManifest,
  SMALL_FILES,
} from './manifest.ts'

const NEEDED_FILES = ['identity.kel', 'identity.next', DATABASE_COPY]

/** Everything that is wrong with a backup, each as a sentence; empty when it can be restored. */
export async function backupFaults(folder: string): Promise<{ manifest: Manifest; faults: string[] }> {
  const manifest = readManifest(folder)
  await checkSchema(manifest)
  const faults: string[] = []
  for (const entry of manifest.files) faults.push(...(await fileFaults(folder, entry)))
  const listed = new Set(manifest.files.map(({ path }) => path))
  for (const path of NEEDED_FILES) if (!listed.has(path)) faults.push(`the manifest does not list ${path}`)
  if (faults.length === 0) faults.push(...(await contentFaults(folder, manifest, listed)))
  return { manifest, faults }
}

async function fileFaults(folder: string, { path, bytes, sha256 }: FileEntry): Promise<string[]> {
  try {
    const found = await digestFile(join(folder, path))
    return found.bytes === bytes && found.sha256 === sha256 ? [] : [`${path} differs from what was saved`]
  } catch (error) {
    const code = systemCode(error)
    if (code === undefined) throw error
    return [code === 'ENOENT' ? `${path} is missing` : `${path} cannot be read: ${systemFault(code)}`]
  }
}

async function checkSchema(manifest: Manifest): Promise<void> {
  const newest = await engine.newestSchema()
  if (manifest.schema > newest)
    throw new StoreRefused(
      `the backup was made by a newer svc-hub: it has schema ${manifest.schema}, and svc-hub ${RELEASE} knows up to ${newest}; ${newerBuild(manifest.release, RELEASE)}`,
    )
}

/** Every file is as it was saved; whether it was worth saving is seen inside. */
async function contentFaults(folder: string, manifest: Manifest, listed: Set<string>): Promise<string[]> {
  const faults = identityFaults(folder, manifest.hub)
  const inspected = await inspect(join(folder, DATABASE_COPY))
  if (inspected === undefined) return [...faults, `${DATABASE_COPY} can not be read`]
  if (inspected.schema !== manifest.schema) faults.push('the schema differs from the one that was saved')
  faults.push(...inspected.faults.map(fault => `${DATABASE_COPY}: ${fault}`))
  const lost = inspected.blobs.filter(path => !listed.has(path)).length
  if (lost !== manifest.missing) faults.push(`${lost - manifest.missing} envelopes lack their files`)
  return faults
}

function identityFaults(folder: string, hub: string): string[] {
  try {
    const { aid, kel } = readIdentity(folder)
    if (aid !== hub) return ['the identity is not that of the hub that was saved']
    return hasNextKey(folder, kel)
      ? []
      : [`${NEXT_FILE} does not hold the key to which the history in ${IDENTITY_FILE} commits`]
  } catch (error) {
    if (!(error instanceof IdentityRefused)) throw error
    return [`${IDENTITY_FILE} cannot be used: ${error.why}`]
  }
}

const inspect = (path: string): Promise<Inspection | undefined> =>
  engine.inspect(path, { deep: true, alone: false }).catch(() => undefined)

export type RestoreOptions = { backup: string; directory: string; now: () => number; release: string }

/** Makes an empty directory the data directory that was saved. */
export async function restoreBackup(options: RestoreOptions): Promise<Manifest> {
  const { backup, directory } = options
  const { manifest, faults } = await backupFaults(backup)
  if (faults.length > 0) throw new StoreRefused(`${backup}: ${faults.join(', ')}; restore another backup`)
  const isMade = !existsSync(directory)
  makeFolder(directory)
  refuseRoot(directory)
  requireEmpty(directory)
  const lock = lockDirectory(directory)
  try {
    // Once more under the lock: from here on nobody else fills the directory.
    requireEmpty(directory)
    await clearUnfinished(directory)
  } catch (error) {
    lock.release()
    throw error
  }
  let isWhole = false
  try {
    await place(manifest, options)
    isWhole = true
  } catch (error) {
    await clearUnfinished(directory)
    throw isFull(error)
      ? new StoreRefused(`not enough space to restore to ${directory}; free some, then try again`)
      : error
  } finally {
    lock.release()
    if (isMade && !isWhole) await rm(directory, { recursive: true, force: true })
  }
  return manifest
}

/** Nothing signed before this time is accepted: that of the restore, also where this machine's clock has not come so far. */
export function floorOf({ made_ms: madeMs }: Manifest, nowMs: number): number {
  return Math.max(madeMs, nowMs)
}

const BLOBS = Object.values(blobPlaces).map(({ folder }) => folder)
const OF_RESTORE: readonly string[] = [...SMALL_FILES, ...BLOBS]
/** What a restore itself puts into a directory; files of the engine stand beside its database under longer names. */
const isOfRestore = (name: string): boolean => OF_RESTORE.includes(name) || name.startsWith(DATABASE_COPY)

/** What a restore that did not finish left is no content; anything else is, whatever marks there are. */
function requireEmpty(directory: string): void {
  const names = readdirSync(directory).filter(name => name !== LOCK_FILE && name !== RESTORE_MARKER)
  const isUnfinished = existsSync(join(directory, RESTORE_MARKER))
  if (!names.every(name => isUnfinished && isOfRestore(name)))
    throw new StoreRefused(`${directory} is not empty; give an empty or a new one with --data-dir`)
}

/** Takes away what an unfinished restore left, its marker last: until then the directory is none of a hub. */
async function clearUnfinished(directory: string): Promise<void> {
  for (const name of readdirSync(directory).filter(isOfRestore))
    await rm(join(directory, name), { recursive: true, force: true })
  await syncFolder(directory)
  await rm(join(directory, RESTORE_MARKER), { force: true })
}

async function place(manifest: Manifest, options: RestoreOptions): Promise<void> {
  const { backup, directory, now, release } = options
  const marker = join(directory, RESTORE_MARKER)
  closeSync(openSync(marker, 'wx', 0o600))
  await syncFolder(directory)
  const folders = new Set<string>()
  for (const { path, sha256 } of manifest.files) {
    const target = join(directory, path)
    await mkdir(dirname(target), { recursive: true, mode: 0o700 })
    folders.add(dirname(target))
    const copied = await copyFile(join(backup, path), target)
    if (copied.sha256 !== sha256) throw new StoreRefused(`${path} changed while it was being read; try again`)
  }
  const nowMs = floorOf(manifest, now())
  const raised = { nowMs, savedMs: manifest.made_ms, release, clockSetting: CLOCK_SETTING }
  await engine.raiseRestored(join(directory, DATABASE_COPY), raised)
  for (const folder of folders) await syncFolder(folder)
  await syncFolder(directory)
  await rm(marker)
  await syncFolder(directory)
}
