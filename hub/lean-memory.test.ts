/** A quiet hub gives back what a load needed: of the engine's heap, and of the C library's. */
import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'

const [module, timers] = ['./lean-memory.ts', '../protocol/timers.ts'].map(
  path => new URL(path, import.meta.url).href,
)

/** Small pieces by the hundred thousand, and a few that stay between them, as a store keeps while connections go. */
const program = `
import { setTimeout as pause } from 'node:timers/promises'
import { collectWhenQuiet } from ${JSON.stringify(module)}
import { systemTimers } from ${JSON.stringify(timers)}
const mib = () => process.memoryUsage.rss() / 2 ** 20
collectWhenQuiet(systemTimers)
await pause(2500)
const before = mib()
let pieces = Array.from({ length: 400_000 }, () => new Uint8Array(400))
const full = mib()
const stay = pieces.filter((_, i) => i % 2000 === 0)
pieces = undefined
const end = Date.now() + 20_000
while (mib() > before + (full - before) / 3 && Date.now() < end) await pause(100)
console.log(JSON.stringify({ grew: full - before, left: mib() - before, stay: stay.length }))
process.exit()
`

test('what a load has left goes back to the system once the hub is quiet, and nothing is said about it', () => {
  const settings = { MALLOC_ARENA_MAX: '1', MALLOC_TRIM_THRESHOLD_: '65536', MALLOC_MMAP_THRESHOLD_: '65536' }
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
    env: { ...process.env, ...settings },
  })
  const { grew, left } = JSON.parse(stdout) as { grew: number; left: number }
  expect(grew).toBeGreaterThan(100)
  expect(left).toBeLessThan(grew / 3)
  expect(stderr).toBe('')
})
