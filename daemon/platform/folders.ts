/**
 * Folders on paths that people give. The runtime's own recursive mkdir goes round for ever where a file system answers
 * for a folder that it cannot make as if its parent were missing, as /proc does.
 */
import * as fs from 'node:fs'
import { dirname, resolve } from 'node:path'
import { Failure, systemCode } from '../../protocol/encoding/errors.ts'

/** A link stands where the folder should be, and leads to nothing. */
export class DanglingLink extends Failure {
  override name = 'DanglingLink'
}

/** Makes a folder and its parents, each tried twice at most; one that exists keeps its mode. */
export function makeFolders(path: string, mode?: number): void {
  const missing: string[] = []
  for (let at = resolve(path); !make(at, mode); at = dirname(at)) {
    missing.push(at)
    // what is there and yet takes no folder is no parent that could be made, nor is a link to nowhere
    if (fs.lstatSync(dirname(at), { throwIfNoEntry: false }) !== undefined) break
  }
  for (const at of missing.reverse()) make(at, mode, true)
}

/** Whether the folder is there now; false where its parent may be missing, unless that is known to be there. */
function make(path: string, mode: number | undefined, hasParent = dirname(path) === path): boolean {
  // most are there already
  if (isFolder(path)) return true
  try {
    fs.mkdirSync(path, mode)
    return true
  } catch (error) {
    if (systemCode(error) === 'ENOENT' && !hasParent) return false
    // another process may have made it meanwhile
    if (isFolder(path)) return true
    throw (systemCode(error) === 'EEXIST' && linkToNowhere(path)) || error
  }
}

const isFolder = (path: string): boolean =>
  fs.statSync(path, { throwIfNoEntry: false })?.isDirectory() === true

/** Says of a link that it leads to nothing. */
export function linkToNowhere(path: string): DanglingLink | undefined {
  const target = fs.existsSync(path) ? undefined : targetOf(path)
  return target === undefined
    ? undefined
    : new DanglingLink(`${path} is a link to ${target}, which does not exist`)
}

function targetOf(path: string): string | undefined {
  try {
    return fs.readlinkSync(path)
  } catch {
    return undefined
  }
}
