/** One temporary folder a run, for everything that tests put there; it goes when the run ends. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Runs before the workers start, so that they inherit the folder. */
export function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'svc-'))
  process.env['TMPDIR'] = folder
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
}
