import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fixture } from '../testing/agents.ts'
import { PLAINTEXT_BYTES_MAX, paddedSize } from './padding.ts'

const { sizes } = fixture<{ sizes: { length: number; padded: number }[] }>('seal/padding.json')

test(`${sizes.length} lengths are padded as their vectors say`, () => {
  for (const { length, padded } of sizes) expect(paddedSize(length), `${length}`).toBe(padded)
})

test('a padded size holds its length, is padded to itself, and costs at most 3.2 % above 64 KiB', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: PLAINTEXT_BYTES_MAX }), length => {
      const padded = paddedSize(length)
      expect(padded).toBeGreaterThanOrEqual(length)
      expect(paddedSize(padded)).toBe(padded)
      if (length > 65536) expect(padded / length).toBeLessThan(1.032)
    }),
    { numRuns: 1000 },
  )
})

test('there are 5 sizes up to 64 KiB and 336 from there to 96 MiB', () => {
  const distinct = new Set<number>()
  for (let length = 1; length <= 96 * 1024 * 1024; length = paddedSize(length) + 1)
    distinct.add(paddedSize(length))
  const small = [...distinct].filter(size => size <= 65536)
  expect([small, distinct.size - small.length]).toEqual([[4096, 8192, 16384, 32768, 65536], 336])
})
