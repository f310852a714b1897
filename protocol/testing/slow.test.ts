import { afterEach, expect, test, vi } from 'vitest'

let runs = 0

afterEach(() => void vi.unstubAllEnvs())

/** Each run has the module for itself. */
async function run(env: Record<string, string>): Promise<typeof import('./slow.ts')> {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  return await import(new URL(`slow.ts?run=${++runs}`, import.meta.url).href)
}
const points = ['a', 'b', 'c', 'd']

test('the whole of a slow test runs unless a slice is asked for', async () => {
  const { sliced, drawn } = await run({ SVC_SLICE: '' })
  expect([sliced(200, 3), drawn(points, 2)]).toEqual([200, points])
})

test('a slice runs a part, which another seed chooses otherwise', async () => {
  const { seed, sliced, drawn } = await run({ SVC_SLICE: '1', SEED: '7' })
  expect([seed, sliced(200, 3), drawn(points, 2), drawn(points, 9)]).toEqual([
    7,
    3,
    ['d', 'a'],
    ['d', 'a', 'b', 'c'],
  ])
  expect((await run({ SEED: '5' })).drawn(points, 2)).toEqual(['b', 'c'])
})
