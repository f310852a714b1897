/** Backups side by side in one folder, each named by its time: the newest are kept, older ones and torn ones go. */
import { readdirSync, statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { StoreRefused } from '../store/port.ts'
import { readManifest } from './manifest.ts'

const NAME = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ$/
const TORN_NAME = /^\.\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ\.[0-9a-f]{12}$/
/** A backup that is still being written is younger. */
const TORN_AFTER_MS = 24 * 3_600_000

/** The name of a backup made at a time; names sort like times. */
export function nameOfNow(nowMs: number): string {
  return `${new Date(nowMs).toISOString().slice(0, 19).replaceAll(':', '-')}Z`
}

/**
 * Leaves the backup `made` now and the newest before it, `keep` in all, of this hub. Folders of the future, made while a
 * clock ran ahead, neither count nor go; whatever else lies there is not touched.
 */
export async function removeOlder(
  folder: string,
  { keep, hub, made, nowMs }: { keep: number; hub: string; made: string; nowMs: number },
): Promise<void> {
  const own = backupsOf(folder, hub).filter(name => name <= made)
  const torn = readdirSync(folder).filter(name => TORN_NAME.test(name) && isTorn(join(folder, name), nowMs))
  for (const name of [...own.slice(0, Math.max(0, own.length - keep)), ...torn])
    await rm(join(folder, name), { recursive: true, force: true })
}

/** Backups of this hub whose names lie after that of the one made now. */
export function ofFuture(folder: string, hub: string, made: string): string[] {
  return backupsOf(folder, hub).filter(name => name > made)
}

function backupsOf(folder: string, hub: string): string[] {
  return readdirSync(folder)
    .filter(name => NAME.test(name) && isOf(join(folder, name), hub))
    .sort()
}

function isOf(path: string, hub: string): boolean {
  try {
    return readManifest(path).hub === hub
  } catch (error) {
    if (error instanceof StoreRefused) return false
    throw error
  }
}

function isTorn(path: string, nowMs: number): boolean {
  return nowMs - statSync(path).mtimeMs > TORN_AFTER_MS
}
