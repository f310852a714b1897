import { expect, test } from 'vitest'
import { agent, NOW_MS } from '../testing/agents.ts'
import { POW_BITS_MIN, powBits, powSeed, solveRange } from './pow.ts'

test('a fresh task of 22 bits is solved by search', () => {
  const { aid, random } = agent(`solver ${process.pid}`)
  const task = { hub: agent('hub').aid, aid, seed: powSeed(random(32), aid, NOW_MS) }
  const step = 1 << 18
  let nonce: Uint8Array | undefined
  for (let start = 0; nonce === undefined; start += step) nonce = solveRange(task, POW_BITS_MIN, start, step)
  expect(powBits(task, nonce)).toBeGreaterThanOrEqual(POW_BITS_MIN)
})
