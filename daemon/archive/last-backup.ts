/** When a data directory was backed up last: a line beside the store, which no archive takes along. */
import { join } from 'node:path'
import * as z from 'zod'
import { findFile, replaceFile } from '../platform/files.ts'

const LAST_BACKUP_FILE = 'last-backup.json'
const LastBackup = z.strictObject({ made_at: z.int().min(0) })

/** Unix milliseconds; undefined where none was made, or nobody can say. */
export function lastBackup(dir: string): number | undefined {
  try {
    const text = findFile(join(dir, LAST_BACKUP_FILE))?.toString('utf8')
    return text === undefined ? undefined : LastBackup.parse(JSON.parse(text)).made_at
  } catch {
    return undefined
  }
}

/** A backup that is written stands, whether or not this can be kept. */
export function noteBackup(dir: string, madeAtMs: number): void {
  try {
    replaceFile(join(dir, LAST_BACKUP_FILE), `${JSON.stringify({ made_at: madeAtMs })}\n`)
  } catch {
    // the screens go on saying the time before
  }
}
