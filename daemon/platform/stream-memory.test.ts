// project: programs

import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'

const [module, timers] = ['./stream-memory.ts', '../../protocol/timers.ts'].map(
  path => new URL(path, import.meta.url).href,
)

/** A process that twice makes 32 MiB of garbage and is quiet afterwards; whether its heap became small again. */
const program = `
import { setTimeout as pause } from 'node:timers/promises'
import { collectWhenQuiet } from ${JSON.stringify(module)}
import { systemTimers } from ${JSON.stringify(timers)}
let released = 0
collectWhenQuiet(systemTimers, () => void (released += 1))
const heap = () => process.memoryUsage().heapUsed
for (let round = 0; round < 2; round++) {
  let held = Array.from({ length: 400_000 }, (_, i) => ({ i, text: String(i) }))
  const full = heap()
  held = undefined
  const end = Date.now() + 15_000
  while (heap() > full / 2 && Date.now() < end) await pause(50)
  console.log(heap() > full / 2 ? 'kept' : 'given back')
}
console.log(released >= 2 ? 'released' : 'kept')
process.exit()
`

test('what work has left is given back once the process is quiet', () => {
  const said = execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
  expect(said.trim()).toBe('given back\ngiven back\nreleased')
})
