/** Files that survive a crash: written beside, synced, renamed, and their directory synced. */

import * as fs from 'node:fs'
import { dirname, join } from 'node:path'
import { Failure, systemCode, systemFault } from '../../protocol/encoding/errors.ts'
import { faultPoint } from './faults.ts'
import { makeFolders } from './folders.ts'

export const SECRET_FILE_MODE = 0o600
export const SECRET_DIRECTORY_MODE = 0o700

/** Bytes of a file, or undefined when there is none; a pipe or a device in its place is refused, not waited for. */
export function findFile(path: string): Buffer | undefined {
  try {
    return readRegular(path)
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined
    throw error
  }
}

/** What a person may name to be read whole. */
export const FILE_BYTES_MAX = 64 * 1024 * 1024

/** Opens a file that a person named; a pipe or a device, which may never end, is refused. */
export function openRegular(path: string, flags = 0): number {
  const file = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK | flags)
  const stat = fs.fstatSync(file)
  if (stat.isFile()) return file
  fs.closeSync(file)
  throw new NotReadable(stat.isDirectory() ? 'EISDIR' : 'ENXIO')
}

/** Bytes of such a file; one that is larger than `bytesMax` is refused. `flags` are further ones to open it with. */
export function readRegular(path: string, bytesMax = Number.POSITIVE_INFINITY, flags = 0): Buffer {
  const file = openRegular(path, flags)
  try {
    if (fs.fstatSync(file).size > bytesMax) throw new NotReadable('EFBIG')
    return fs.readFileSync(file)
  } finally {
    fs.closeSync(file)
  }
}

/** Not to be read, for the reason that the system has a code for. */
export class NotReadable extends Failure {
  readonly code: string
  constructor(code: string) {
    super(systemFault(code))
    this.code = code
  }
}

/** Replaces a file as one step: after a crash it holds the old bytes or the new ones. `fault` names the step in tests. */
export function replaceFile(path: string, bytes: Uint8Array | string, fault = 'node.file'): void {
  const temporary = `${path}${TEMPORARY}${process.pid}`
  writeOrRemove(temporary, bytes)
  faultPoint(`${fault}.before-rename`)
  fs.renameSync(temporary, path)
  faultPoint(`${fault}.after-rename`)
  syncDirectory(dirname(path))
}

const TEMPORARY = '.tmp-'
const TEMPORARY_NAME = /\.tmp-\d+$/

/** On a full disk a half-written file would take the room that is left. */
function writeOrRemove(path: string, bytes: Uint8Array | string): void {
  try {
    writeDurably(path, bytes)
  } catch (error) {
    fs.rmSync(path, { force: true })
    throw error
  }
}

/** Removes what writes that were killed left in a folder; for whoever holds its lock. */
export function removeTemporary(folder: string): void {
  for (const name of fs.readdirSync(folder))
    if (TEMPORARY_NAME.test(name)) fs.rmSync(join(folder, name), { force: true })
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
  makeFolders(path, SECRET_DIRECTORY_MODE)
}

/** Why a file could not be read or written, for a sentence that names it. */
export function fileFault(error: unknown): string {
  return systemFault(systemCode(error) ?? 'an unknown error')
}
