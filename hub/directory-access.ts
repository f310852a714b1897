/** Who may work in the folder of a hub: this user, and nobody else. */
import { accessSync, chmodSync, constants, existsSync, readdirSync, readlinkSync, statSync } from 'node:fs'
import { systemCode } from '../protocol/encoding/errors.ts'
import { LOCK_FILE } from './directory-lock.ts'
import { isOwn, makeFolder } from './files.ts'
import { StoreRefused } from './store/port.ts'
import { SetupRefused } from './store/setup-refused.ts'

const UNWRITABLE: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST', 'ENOENT'])

/** What can't be entered looks empty; one that is not there, or is no directory, is another matter. */
export function isEnterable(directory: string): boolean {
  try {
    accessSync(`${directory}/.`, constants.X_OK)
    return true
  } catch (error) {
    return !['EACCES', 'EPERM'].includes(systemCode(error) ?? '')
  }
}

/** Refuses, in words, a directory that this user cannot write. */
export function makeWritable(directory: string): void {
  let code: string | undefined
  try {
    makeFolder(directory)
    if (isWritable(directory)) return
  } catch (error) {
    code = systemCode(error)
    if (code === undefined || !UNWRITABLE.has(code)) throw error
  }
  refuseDangling(directory)
  refuseUnwritable(directory, code)
}

/** Refuses, in words, a directory in which this user can't make, read and replace files; `code` is what making it met. */
export function refuseUnwritable(directory: string, code?: string): void {
  if (code === undefined && isWritable(directory)) return
  const met = code ?? accessFault(directory)
  const { found, next } = unwritable(directory, met)
  // a file system that failed is mounted again without a word of the hub
  throw new (met === 'EROFS' ? StoreRefused : SetupRefused)(`${found}; ${next}`)
}

/** Why a directory cannot be written, and what helps; `code` is what making it met. */
export function unwritable(
  directory: string,
  code = accessFault(directory),
): { found: string; next: string } {
  if (code === 'ENOTDIR' || code === 'EEXIST' || isOther(directory))
    return { found: `${directory} is no folder`, next: 'give another --data-dir' }
  if (code === 'EROFS')
    return {
      found: `the file system of ${directory} is read-only`,
      next: 'the log of the system says whether it failed; mount it for writing again',
    }
  return {
    found: `this user cannot write to ${directory}`,
    next: openingUp(directory),
  }
}

/** What lets this user work in a directory that it cannot enter or write. */
export const openingUp = (directory: string): string =>
  isOwn(directory)
    ? `it belongs to this user, so: chmod u+rwx ${directory}`
    : 'run svc-hub as the owner of that directory, or give another --data-dir'

const OTHERS = 0o077
/** What may lie in a folder that was made for a hub. */
const OF_NO_OTHER: readonly string[] = [LOCK_FILE, 'config.json', 'lost+found']

/** A folder that holds nothing but a new hub is closed to other users; one that holds more is its owner's matter. */
export function closeToOthers(directory: string): void {
  const isMine = statSync(directory).uid === process.geteuid?.()
  if (isMine && readdirSync(directory).every(name => OF_NO_OTHER.includes(name))) chmodSync(directory, 0o700)
}

/** What lets other users of the machine into a directory, and what closes it; undefined where nothing does. */
export function openness(directory: string): string | undefined {
  const { mode = 0 } = statSync(directory, { throwIfNoEntry: false }) ?? {}
  if ((mode & OTHERS) === 0) return undefined
  return `other users of this machine can enter ${directory}; close it with: chmod go= ${directory}`
}

function refuseDangling(directory: string): void {
  const target = existsSync(directory) ? undefined : linkTarget(directory)
  if (target !== undefined)
    throw new StoreRefused(
      `${directory} is a link to ${target}, which does not exist; make that folder, or take the link away`,
    )
}

function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

/** The modes of files do not keep root out; what it writes keeps out the user whose hub this is. */
export function refuseRoot(directory: string): void {
  const { uid } = statSync(directory)
  if (uid !== 0 && process.geteuid?.() === 0)
    throw new SetupRefused(
      `${directory} belongs to user ${uid}, whom files written by root would shut out; run svc-hub as that user`,
    )
}

/** Whether this user may make, read and replace files in a directory. */
export function isWritable(directory: string): boolean {
  return accessFault(directory) === undefined && !isOther(directory)
}

/** Whether something else than a folder is there, as far as this user can see. */
function isOther(path: string): boolean {
  try {
    return !statSync(path).isDirectory()
  } catch {
    return false
  }
}

function accessFault(path: string): string | undefined {
  try {
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
    return undefined
  } catch (error) {
    return systemCode(error) ?? 'EIO'
  }
}
