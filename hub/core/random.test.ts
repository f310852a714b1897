/** Randomness in blocks: no byte is given twice, whatever the sizes. */
import { expect, test } from 'vitest'
import { systemRandom } from './random.ts'

test.each([1, 16, 32, 63, 64, 65, 4096, 5000])(
  '%i bytes are so many, of their own, and never the same',
  count => {
    const drawn = Array.from({ length: 300 }, () => systemRandom(count))
    expect(new Set(drawn.map(bytes => bytes.length))).toEqual(new Set([count]))
    expect(new Set(drawn.map(({ buffer }) => buffer)).size).toBe(drawn.length)
    if (count >= 16) expect(new Set(drawn.map(bytes => Buffer.from(bytes).toString('hex'))).size).toBe(300)
    expect(drawn.some(bytes => bytes.some(byte => byte !== 0))).toBe(true)
  },
)

test('the last bytes of a block are given whole, and what comes next is of another', () => {
  const drawn = Array.from({ length: 2000 }, (_, i) => systemRandom([7, 64, 33, 16][i % 4] ?? 1))
  const long = drawn.filter(bytes => bytes.length >= 16).map(bytes => Buffer.from(bytes).toString('hex'))
  expect(new Set(long).size).toBe(long.length)
  expect(drawn.filter(bytes => bytes.length >= 16 && bytes.every(byte => byte === 0))).toEqual([])
})
