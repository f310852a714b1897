/**
 * Copying a data directory as it stands at one moment: rows first, then the files that they name, which the running hub
 * keeps meanwhile. The copy becomes visible under its name when all of it is on the disk and was read again.
 */
import { existsSync, realpathSync } from 'node:fs'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { RELEASE } from '../../protocol/build-info.ts'
import { toHex } from '../../protocol/encoding/bytes.ts'
import { systemCode, wordsOf } from '../../protocol/encoding/errors.ts'
import { engine } from '../engine.ts'
import { syncFolder } from '../files.ts'
import { newerStore } from '../store/engine-port.ts'
import { isFull, StoreRefused } from '../store/port.ts'
import {
  copyFile,
  DATABASE_COPY,
  digestFile,
  type FileEntry,
  MANIFEST_FILE,
  type Manifest,
  makeManifest,
  SMALL_FILES,
} from './manifest.ts'
import { backupFaults } from './restore.ts'

export type BackupOptions = {
  directory: string
  target: string
  hub: string
  now: () => number
  random: (count: number) => Uint8Array
  /** Settings outside the directory, by name. */
  outside?: string[]
  /** No hub has the directory open. */
  alone: boolean
}

const DRAFT_BYTES = 6
/** Another backup has taken the name meanwhile. */
const TAKEN = new Set(['ENOTEMPTY', 'EEXIST'])

/** Writes a backup of `directory` to the new folder `target`; whoever calls keeps its files from being removed. */
export async function writeBackup(options: BackupOptions): Promise<Manifest> {
  const target = resolve(options.target)
  checkTarget(target, options.directory)
  const draft = join(dirname(target), `.${basename(target)}.${toHex(options.random(DRAFT_BYTES))}`)
  await mkdir(draft, { mode: 0o700 }).catch(error => {
    if (isFull(error) || systemCode(error) === undefined) throw error
    throw new StoreRefused(`${target} cannot be made: ${wordsOf(error)}; choose another place`)
  })
  try {
    const manifest = await fill(draft, options)
    await requireRestorable(draft)
    await rename(draft, target).catch(error => {
      if (!TAKEN.has(systemCode(error) ?? '')) throw error
      throw new StoreRefused(`${target} already exists; choose a new folder`)
    })
    await syncFolder(dirname(target))
    return manifest
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    throw isFull(error)
      ? new StoreRefused(`not enough space for a backup at ${target}; free some, or choose another place`)
      : error
  }
}

/** What can't be restored never gets the name of a backup. */
async function requireRestorable(draft: string): Promise<void> {
  const { faults } = await backupFaults(draft)
  if (faults.length > 0)
    throw new StoreRefused(
      `no backup was made, because it could not be restored: ${faults.join(', ')}; find out more with: svc-hub doctor`,
    )
}

function checkTarget(target: string, directory: string): void {
  if (existsSync(target)) throw new StoreRefused(`${target} already exists; choose a new folder`)
  if (!existsSync(dirname(target)))
    throw new StoreRefused(`${dirname(target)} does not exist; create it, or choose another place`)
  const way = relative(realpathSync(directory), join(realpathSync(dirname(target)), basename(target)))
  if (way !== '..' && !way.startsWith(`..${sep}`))
    throw new StoreRefused(`${target} is inside the data directory being saved; choose a place outside`)
}

async function fill(draft: string, options: BackupOptions): Promise<Manifest> {
  const { directory, hub, now, outside = [], alone } = options
  const madeMs = now()
  const files: FileEntry[] = []
  for (const path of SMALL_FILES) {
    if (existsSync(join(directory, path)))
      files.push({ path, ...(await copyFile(join(directory, path), join(draft, path))) })
  }
  const database = join(draft, DATABASE_COPY)
  const rows = join(directory, engine.files.rows)
  await engine.copy(rows, database, { alone })
  const { schema, newestSchema, release, blobs } = await engine.inspect(database, {
    deep: false,
    alone: true,
  })
  if (schema > newestSchema) {
    const schemas = { held: schema, newest: newestSchema, release: RELEASE, wrote: release }
    throw newerStore(rows, schemas)
  }
  await syncFile(database)
  files.push({ path: DATABASE_COPY, ...(await digestFile(database)) })
  const saved = await copyBlobs(directory, draft, blobs)
  files.push(...saved)
  const missing = blobs.length - saved.length
  const manifest = makeManifest({ release, schema, hub, made_ms: madeMs, missing, outside, files })
  await writeWhole(join(draft, MANIFEST_FILE), `${JSON.stringify(manifest, null, 1)}\n`)
  await syncFolder(draft)
  return manifest
}

async function copyBlobs(directory: string, draft: string, paths: string[]): Promise<FileEntry[]> {
  const saved: FileEntry[] = []
  const folders = new Set<string>()
  for (const path of paths) {
    const folder = dirname(path)
    await mkdir(join(draft, folder), { recursive: true, mode: 0o700 })
    for (const made of [dirname(folder), folder]) folders.add(made)
    const copied = await copyFile(join(directory, path), join(draft, path)).catch(unlessGone)
    if (copied !== undefined) saved.push({ path, ...copied })
  }
  for (const folder of folders) await syncFolder(join(draft, folder))
  return saved
}

/** A file that is gone was collected meanwhile, or never came back from an older backup; the manifest counts it. */
function unlessGone(error: unknown): undefined {
  if (systemCode(error) !== 'ENOENT') throw error
}

async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r+')
  await file.chmod(0o600)
  await file.sync()
  await file.close()
}

async function writeWhole(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  await file.writeFile(text)
  await file.sync()
  await file.close()
}
