/** The doctor on the data directory: who may read it, whose it is, the identity, and what interrupted work left there. */
import { existsSync, lstatSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type Finding, note, ok, wrong } from '../../protocol/encoding/finding.ts'
import { systemNow } from '../../protocol/timers.ts'
import { CONFIG_FILE } from '../config.ts'
import { hasNextKey, IdentityRefused, readIdentity } from '../core/identity.ts'
import { RESTORE_MARKER } from '../data-dir.ts'

const OTHERS = 0o077
/** A body that is still being received is younger than this. */
const TORN_AFTER_MS = 3_600_000
const COPY_BEFORE_MIGRATION = /^hub\.db\.before-schema-\d+$/

/** Looks at names, modes and owners; `alone` says that no hub works in the directory now. */
export function checkDirectory(
  directory: string,
  alone: boolean,
): { findings: Finding[]; aid: string | undefined } {
  const { finding, aid } = checkIdentity(directory)
  const findings = [checkModes(directory), checkOwner(directory), finding, checkTorn(directory, alone)]
  if (existsSync(join(directory, RESTORE_MARKER)))
    findings.push(
      wrong(
        'restore',
        'a restore did not finish',
        `run it again: svc-hub restore <backup> --data-dir ${directory}`,
      ),
    )
  const copies = readdirSync(directory).filter(name => COPY_BEFORE_MIGRATION.test(name))
  if (copies.length > 0)
    findings.push(
      note(
        'copies',
        `${copies.join(', ')} remain from before an upgrade`,
        `once the upgrade has proved itself: rm ${copies.map(name => join(directory, name)).join(' ')}`,
      ),
    )
  return { findings, aid }
}

function checkModes(directory: string): Finding {
  const isOpen = (path: string): boolean => (lstatSync(path).mode & OTHERS) !== 0
  // the operator's own file, which nobody else reaches in a private directory
  const isHarmless = (path: string): boolean => path === join(directory, CONFIG_FILE) && !isOpen(directory)
  const open = [directory, ...entries(directory)].filter(path => isOpen(path) && !isHarmless(path))
  if (open.length === 0) return ok('modes', `${directory} is private`)
  const { uid } = statSync(directory)
  const mend = `chmod -R go= ${directory}`
  const found = `other users may read or write ${listed(open)}`
  if (mayChange(open)) return wrong('modes', found, mend)
  return wrong('modes', `${found}; this user does not own all of it`, `as root or as user ${uid}: ${mend}`)
}

/** Only its owner and root may change the modes of a file. */
function mayChange(paths: string[]): boolean {
  const own = process.geteuid?.()
  return own === 0 || paths.every(path => lstatSync(path).uid === own)
}

/** Files of another user are what a command run as root leaves behind; the hub can't write them. */
function checkOwner(directory: string): Finding {
  const { uid, gid } = statSync(directory)
  const foreign = entries(directory).filter(path => lstatSync(path).uid !== uid)
  if (foreign.length === 0) return ok('owner', `all files belong to user ${uid}`)
  return wrong(
    'owner',
    `${listed(foreign)} do not belong to user ${uid}, whose directory it is`,
    `as root: chown -R ${uid}:${gid} ${directory}`,
  )
}

function checkIdentity(directory: string): { finding: Finding; aid: string | undefined } {
  const mend = 'restore identity.kel and identity.next from a backup; without them this would be another hub'
  try {
    const { aid, kel } = readIdentity(directory)
    if (hasNextKey(directory, kel)) return { finding: ok('identity', aid), aid }
    return {
      finding: wrong(
        'identity',
        'identity.next, the key of its next rotation, is missing or another one',
        mend,
      ),
      aid,
    }
  } catch (error) {
    if (!(error instanceof IdentityRefused)) throw error
    return { finding: wrong('identity', error.found, error.next), aid: undefined }
  }
}

/** Files that no finished write leaves. */
function checkTorn(directory: string, alone: boolean): Finding {
  const torn = entries(directory).filter(path => {
    if (path.endsWith('.new')) return true
    const temporary = path.startsWith(join(directory, 'tmp', '/'))
    return temporary && (alone || systemNow() - lstatSync(path).mtimeMs > TORN_AFTER_MS)
  })
  if (torn.length === 0) return ok('unfinished files', 'none')
  return note('unfinished files', `${listed(torn)} are incomplete`, 'the next start removes those in tmp')
}

function entries(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() || entry.isDirectory())
    .map(entry => join(entry.parentPath, entry.name))
    .filter(path => existsSync(path))
}

const LISTED_MAX = 3

function listed(paths: string[]): string {
  const more = paths.length - LISTED_MAX
  return `${paths.slice(0, LISTED_MAX).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}
