/** What can be seen of a node's data directory from outside, whether the node runs or not. */
import * as fs from 'node:fs'
import { dirname, join } from 'node:path'
import { readConfig, settingsWithoutEffect } from '../../daemon/home/config.ts'
import { MOVED_NEXT, sayMoved } from '../../daemon/home/moved.ts'
import { faultOfDirectory } from '../../daemon/home/own-directory.ts'
import { peekIdentity, requireNoRemains } from '../../daemon/identity/identity.ts'
import { keyWarning } from '../../daemon/identity/key-warning.ts'
import { linkToNowhere } from '../../daemon/platform/folders.ts'
import { roomWarning } from '../../daemon/platform/room.ts'
import { buildInfo } from '../../protocol/build-info.ts'
import { wordsOf } from '../../protocol/encoding/errors.ts'
import { type Finding, note, ok, wrong } from '../../protocol/encoding/finding.ts'

const OTHERS = 0o077
/** Files that hold a secret; those that are there. */
const SECRETS = [
  'identity.kel',
  'control_token.txt',
  'a2a_token.txt',
  'config.json',
  'evidence.chain',
  'interactions/store.db',
]

/** Key, modes, configuration and disk. */
export function checkHome(dir: string): Finding[] {
  const nowhere = linkToNowhere(dir)
  if (nowhere !== undefined)
    return [wrong('data directory', nowhere.message, 'make that folder, or take the link away')]
  const held = existingFolder(dir)
  if (!isWritable(held))
    return [
      wrong('data directory', `${held} cannot be written`, 'mend that, or choose another with SVC_HOME'),
    ]
  if (held !== dir) return [note('data directory', `${dir} does not exist yet`, 'svc up')]
  return [checkModes(dir), ...checkKey(dir), checkConfiguration(dir), checkRoom(dir)]
}

/** The folder itself or the nearest one above it that is there. */
function existingFolder(dir: string): string {
  return fs.existsSync(dir) ? dir : existingFolder(dirname(dir))
}

function isWritable(path: string): boolean {
  try {
    fs.accessSync(path, fs.constants.W_OK | fs.constants.X_OK)
    return fs.statSync(path).isDirectory()
  } catch {
    return false
  }
}

function checkModes(dir: string): Finding {
  const fault = faultOfDirectory(dir)
  if (fault !== undefined) return wrong('data directory', fault.found, fault.mend)
  const open = [dir, ...SECRETS.map(name => join(dir, name))].filter(
    path => fs.existsSync(path) && (fs.statSync(path).mode & OTHERS) !== 0,
  )
  if (open.length === 0) return ok('data directory', `${dir} is yours alone`)
  return wrong('data directory', `other users can read ${open.join(', ')}`, `chmod -R go-rwx ${dir}`)
}

function checkKey(dir: string): Finding[] {
  const moved = sayMoved(dir)
  if (moved !== undefined) return [wrong('identity', moved, MOVED_NEXT.replace('\n', ' '))]
  const path = join(dir, 'identity.kel')
  try {
    const found = peekIdentity(dir)
    if (found === undefined) {
      requireNoRemains(dir)
      return [note('identity', `${path} does not exist yet`, 'svc up')]
    }
    const warning = keyWarning(found)
    if (found.deactivated) return [wrong('identity', `${found.aid}: ${warning}`, 'svc id new <name>')]
    const identity = ok('identity', found.aid)
    if (warning === undefined) return [identity]
    return [identity, note('next key', warning, 'svc id next import < phrase.txt')]
  } catch (error) {
    const mend = `put a backup of ${path} back; without one this identity is lost, and svc id new makes another`
    const found = wordsOf(error)
    return [wrong('identity', fs.existsSync(path) ? `${path} cannot be read: ${found}` : found, mend)]
  }
}

function checkConfiguration(dir: string): Finding {
  try {
    const unused = settingsWithoutEffect(readConfig(dir), buildInfo.modules)
    if (unused.length === 0) return ok('configuration', 'is valid')
    const file = join(dir, 'config.json')
    return note(
      'configuration',
      `${unused.join(', ')} have no effect in this build`,
      `take them out of ${file}`,
    )
  } catch (error) {
    return wrong('configuration', wordsOf(error), `edit ${join(dir, 'config.json')}`)
  }
}

function checkRoom(dir: string): Finding {
  const warning = roomWarning(dir)
  return warning === undefined
    ? ok('disk', 'has room')
    : wrong('disk', warning, `free some room beside ${dir}`)
}
