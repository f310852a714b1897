/** What of a hub lies in a data directory: a hub that lost a part is never taken for a new one. */
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { IDENTITY_FILE, NEXT_FILE } from './core/identity.ts'
import { StoreRefused } from './store/port.ts'
import { DATABASE_FILE } from './store/sqlite/open.ts'

/** Lies in a data directory until everything of a new hub is on the disk. */
export const CREATING_MARKER = 'creating'
/** Without these a hub cannot go on; what another hub would be made of. */
const NEEDED = [IDENTITY_FILE, DATABASE_FILE]
const TRACES = [...NEEDED, NEXT_FILE, `${DATABASE_FILE}-wal`, 'blobs']

export type Parts = { state: 'none' | 'new' | 'whole' } | { state: 'part'; found: string; next: string }

/** Looks at a directory; `new` says that a first start there did not come to its end. */
export function partsOf(directory: string): Parts {
  if (existsSync(join(directory, CREATING_MARKER))) return { state: 'new' }
  const missing = NEEDED.filter(name => isMissing(join(directory, name)))
  if (missing.length === 0) return { state: 'whole' }
  if (!TRACES.some(name => existsSync(join(directory, name)))) return { state: 'none' }
  const verb = missing.length === 1 ? 'is' : 'are'
  const found = `${missing.join(' and ')} ${verb} missing from ${directory}, which holds the rest of a hub`
  const next = missing.includes(DATABASE_FILE)
    ? 'restore a backup: svc-hub restore <backup> --data-dir <new folder>; a new store would be another hub'
    : `copy ${IDENTITY_FILE} there from a backup; without it this would be another hub`
  return { state: 'part', found, next }
}

/** A database that holds nothing is as good as none. */
function isMissing(path: string): boolean {
  return !existsSync(path) || statSync(path).size === 0
}

/** Refuses a directory that lost a part of its hub. */
export function refusePart(parts: Parts): void {
  if (parts.state === 'part') throw new StoreRefused(`${parts.found}; ${parts.next}`)
}
