/** Files that survive a crash: written beside, synced, renamed, and their directory synced. */
import * as fs from 'node:fs'
import { dirname } from 'node:path'
import { faultPoint } from './faults.ts'

export const SECRET_FILE_MODE = 0o600
export const SECRET_DIRECTORY_MODE = 0o700

/** Bytes of a file, or undefined when there is none. */
export function findFile(path: string): Buffer | undefined {
  try {
    return fs.readFileSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Replaces a file as one step: after a crash it holds the old bytes or the new ones. `fault` names the step in tests. */
export function replaceFile(path: string, bytes: Uint8Array | string, fault = 'node.file'): void {
  const temporary = `${path}.tmp-${process.pid}`
  writeDurably(temporary, bytes)
  faultPoint(`${fault}.before-rename`)
  fs.renameSync(temporary, path)
  faultPoint(`${fault}.after-rename`)
  syncDirectory(dirname(path))
}

/** Creates or overwrites a secret file and waits until its bytes are on the disk. */
export function writeDurably(path: string, bytes: Uint8Array | string): void {
  const file = fs.openSync(path, 'w', SECRET_FILE_MODE)
  try {
    fs.fchmodSync(file, SECRET_FILE_MODE)
    fs.writeFileSync(file, bytes)
    fs.fsyncSync(file)
  } finally {
    fs.closeSync(file)
  }
}

export function renameDurably(from: string, to: string): void {
  fs.renameSync(from, to)
  syncDirectory(dirname(to))
}

export function removeDurably(path: string): void {
  fs.rmSync(path, { force: true })
  syncDirectory(dirname(path))
}

export function syncDirectory(path: string): void {
  const directory = fs.openSync(path, 'r')
  try {
    fs.fsyncSync(directory)
  } finally {
    fs.closeSync(directory)
  }
}

/** Creates a directory that only this user can enter; one that exists keeps its mode. */
export function ensureSecretDirectory(path: string): void {
  fs.mkdirSync(path, { recursive: true, mode: SECRET_DIRECTORY_MODE })
}
