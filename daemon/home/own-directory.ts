/** What a node reads at its start decides whom it obeys: nobody but its user may be able to write that. */
import * as fs from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../../protocol/encoding/errors.ts'

const WRITABLE_BY_OTHERS = 0o022
const SYSTEM_USER = 0

export class DirectoryNotOurs extends Failure {
  override name = 'DirectoryNotOurs'
}

/** Refuses a data directory in which another user of this machine can write, or which holds what is no file. */
export function requireOwnDirectory(dir: string): void {
  const fault = faultOfDirectory(dir)
  if (fault !== undefined) throw new DirectoryNotOurs(`${fault.found}; ${fault.mend}`)
}

export type DirectoryFault = { found: string; mend: string }

/** Why a node does not start on a data directory that exists; its entries are looked at, not what their folders hold. */
export function faultOfDirectory(dir: string, user = process.getuid?.()): DirectoryFault | undefined {
  if (user === undefined) return undefined
  const owners = [user, SYSTEM_USER]
  return faultOfEntry(dir, fs.statSync(dir), dir, owners) ?? firstFault(dir, owners)
}

function firstFault(dir: string, owners: number[]): DirectoryFault | undefined {
  for (const name of fs.readdirSync(dir)) {
    const path = join(dir, name)
    // what is renamed or removed meanwhile is somebody's temporary file
    const stat = fs.lstatSync(path, { throwIfNoEntry: false })
    const fault = stat && faultOfEntry(path, stat, dir, owners)
    if (fault !== undefined) return fault
  }
  return undefined
}

function faultOfEntry(
  path: string,
  stat: fs.Stats,
  dir: string,
  owners: number[],
): DirectoryFault | undefined {
  if (!owners.includes(stat.uid))
    return {
      found: `${path} belongs to another user of this machine (uid ${stat.uid}), who decides what it says`,
      mend: `run svc as that user, or take it over with: chown -R "$(id -un)" ${dir} (look through config.json first)`,
    }
  if (stat.isFIFO() || stat.isCharacterDevice() || stat.isBlockDevice())
    return { found: `${path} is a pipe or a device, no file`, mend: 'remove it, then start again' }
  if (stat.isSymbolicLink() || stat.isSocket() || (stat.mode & WRITABLE_BY_OTHERS) === 0) return undefined
  return {
    found: `other users of this machine can write ${path}, and so decide what this node does`,
    mend: `look through config.json, then: chmod -R go-rwx ${dir}`,
  }
}
