/** One temporary folder a run, for everything that tests put there; it goes when the run ends. */
import { execFileSync } from 'node:child_process'
import { accessSync, constants, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'

const MEMORY = '/dev/shm'
const ROOM_BYTES = 2 * 1024 ** 3
const THREADS = [
  'hub/store/sqlite/writer.ts',
  'hub/core/verify-worker.ts',
  'daemon/chain/signature-worker.ts',
]

/** Projects of which no test starts a hub. */
const WITHOUT_HUBS: readonly string[] = ['matrix', 'variants']

/** Runs before the workers start, so that they inherit the folder. */
export function setup({ vitest }: TestProject): () => void {
  const folder = mkdtempSync(
    join(process.env['TMPDIR'] === undefined && hasRoom() ? MEMORY : tmpdir(), 'svc-'),
  )
  process.env['TMPDIR'] = folder
  process.env['NODE_COMPILE_CACHE'] = join(folder, 'compiled')
  if (vitest.projects.some(({ name }) => !WITHOUT_HUBS.includes(name))) compileThreads()
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

/** Every hub of a test starts threads from sources, which takes thrice as long when they are not compiled yet. */
function compileThreads(): void {
  const files = THREADS.map(path => new URL(`../${path}`, import.meta.url).href)
  // Out of its thread a file fails, but what it imports is compiled by then.
  const code = `Promise.allSettled(${JSON.stringify(files)}.map(file => import(file))).then(() => process.exit())`
  execFileSync(process.execPath, ['-e', code], { stdio: 'ignore', timeout: 20_000 })
}
