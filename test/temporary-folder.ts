/** One temporary folder a run, for everything that tests put there; it goes when the run ends. */
import { accessSync, constants, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const MEMORY = '/dev/shm'
const ROOM_BYTES = 2 * 1024 ** 3

/** Runs before the workers start, so that they inherit the folder. */
export function setup(): () => void {
  const folder = mkdtempSync(
    join(process.env['TMPDIR'] === undefined && hasRoom() ? MEMORY : tmpdir(), 'svc-'),
  )
  process.env['TMPDIR'] = folder
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
}

/** Whether files can be kept in memory, where a flush costs nothing: a killed process loses none of them there either. */
function hasRoom(): boolean {
  try {
    accessSync(MEMORY, constants.W_OK)
    const { bavail, bsize } = statfsSync(MEMORY)
    return bavail * bsize >= ROOM_BYTES
  } catch {
    return false
  }
}
