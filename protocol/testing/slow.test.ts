import { afterEach, beforeEach, expect, test, vi } from 'vitest'

beforeEach(() => void vi.resetModules())
afterEach(() => void vi.unstubAllEnvs())

async function run(env: Record<string, string>) {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  return await import('./slow.ts')
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
  vi.resetModules()
  expect((await run({ SEED: '5' })).drawn(points, 2)).toEqual(['b', 'c'])
})
