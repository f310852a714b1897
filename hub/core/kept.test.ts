/** What is kept for a while, and read by one for all. */
import { beforeEach, expect, test } from 'vitest'
import { Kept } from './kept.ts'

let ms = 1000
let reads: PromiseWithResolvers<number>[] = []
let kept: Kept<number>
beforeEach(() => {
  ms = 1000
  reads = []
  kept = new Kept(
    () => {
      const one = Promise.withResolvers<number>()
      reads.push(one)
      return one.promise
    },
    { lifeMs: 10, now: () => ms },
  )
})

test('all who wait for it are given what one of them reads', async () => {
  const asked = [kept.get(), kept.get(), kept.get()]
  expect(reads.length).toBe(1)
  reads[0]?.resolve(7)
  expect(await Promise.all(asked)).toEqual([7, 7, 7])
  expect([await kept.get(), reads.length]).toEqual([7, 1])
})

test.each([11, -1])('it is read again when it is %i ms old', async ageMs => {
  const first = kept.get()
  reads[0]?.resolve(1)
  await first
  ms += ageMs
  const second = kept.get()
  reads[1]?.resolve(2)
  expect(await second).toBe(2)
})

test('a read that fails is told to all who waited, and the next one reads again', async () => {
  const asked = [kept.get(), kept.get()]
  reads[0]?.reject(new Error('away'))
  for (const one of asked) await expect(one).rejects.toThrow('away')
  const next = kept.get()
  reads[1]?.resolve(3)
  expect(await next).toBe(3)
})

test('a read that takes longer than its value is kept is joined by nobody', async () => {
  const first = kept.get()
  ms += 11
  const second = kept.get()
  reads[1]?.resolve(2)
  expect(await second).toBe(2)
  reads[0]?.resolve(1)
  expect(await first).toBe(1)
})
