/** The mark of a directory whose identity was exported: it lives elsewhere, and a node that started here would be a second one. */
import * as fs from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../../protocol/encoding/errors.ts'
import { findFile, replaceFile } from '../platform/files.ts'

export const MOVED_FILE = 'exported'

/** The way back for whoever knows that the archive was never brought in anywhere. */
export const MOVED_NEXT = 'only if that file was never imported:\nsvc id export --undo'

export class IdentityMoved extends Failure {
  override name = 'IdentityMoved'
}

export function markMoved(dir: string, { atMs, archive }: { atMs: number; archive: string }): void {
  replaceFile(join(dir, MOVED_FILE), `${new Date(atMs).toISOString()} ${archive}\n`)
}

/** Where the identity of a directory went, when it was exported from there. */
export function sayMoved(dir: string): string | undefined {
  const path = join(dir, MOVED_FILE)
  const mark = fs.existsSync(path) ? findFile(path)?.toString('utf8') : undefined
  if (mark === undefined) return undefined
  const [at = '', ...archive] = mark.trim().split(' ')
  return `the identity in ${dir} was exported at ${at} to ${archive.join(' ')} and lives where that is imported`
}

/** Refuses a directory whose identity may live on another machine. */
export function requireNotMoved(dir: string): void {
  const moved = sayMoved(dir)
  if (moved !== undefined) throw new IdentityMoved(`${moved}; only if it never was: svc id export --undo`)
}
