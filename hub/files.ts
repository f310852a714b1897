/** Small steps with files that more than one part of the hub takes. */
import { existsSync, mkdirSync, rmdirSync, statSync } from 'node:fs'
import { type FileHandle, open, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { systemCode } from '../protocol/encoding/errors.ts'

export async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let offset = 0; offset < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, offset, bytes.length - offset)
    offset += bytesWritten
  }
}

/** Room that the file system of a path has left for ordinary users. */
export async function freeBytes(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path)
  return bavail * bsize
}

/** Forces the names in a folder to the disk. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/**
 * Makes a private folder with those above it. The system's own way of making them goes on for ever where a folder can't
 * be made in one that exists, as in /proc.
 */
export function makeFolder(path: string): void {
  if (existsSync(path)) return
  const above = dirname(path)
  if (above !== path) makeFolder(above)
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error
  }
}

/** The folders of a path that are not there yet, the deepest first. */
export function missingFolders(path: string): string[] {
  const above = dirname(path)
  return existsSync(path) || above === path ? [] : [path, ...missingFolders(above)]
}

/** Takes away folders as long as they hold nothing. */
export function removeEmpty(folders: readonly string[]): void {
  try {
    for (const folder of folders) rmdirSync(folder)
  } catch {
    // what holds something stays, and so does what it lies in
  }
}

/** Whose a file or folder is; undefined where this user can't see that. */
export function ownerOf(path: string): number | undefined {
  try {
    return statSync(path).uid
  } catch {
    return undefined
  }
}

const OTHERS = 0o077
/** A group may read a file of root, since that is how systemd passes credentials. */
const OTHERS_OF_ROOT = 0o037

/** What lets others of the machine read a file with a secret, and what closes it; undefined where nothing does. */
export function secretOpenness(path: string): { found: string; next: string } | undefined {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (!stat?.isFile() || (stat.mode & (stat.uid === 0 ? OTHERS_OF_ROOT : OTHERS)) === 0) return undefined
  return { found: `other users of this machine may read ${path}`, next: `chmod go= ${path}` }
}

/** Whether modes alone keep this user from what belongs to it. */
export const isOwn = (path: string): boolean => {
  const user = process.geteuid?.()
  return user !== undefined && user !== 0 && ownerOf(path) === user
}

/** What gives all files of a directory back to its owner, and lets him use them. */
export function givingBack(directory: string): string {
  const { uid, gid } = statSync(directory)
  return `as root: chown -R ${uid}:${gid} ${directory} && chmod -R u+rwX ${directory}`
}
