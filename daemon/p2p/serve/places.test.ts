import { expect, test } from 'vitest'
import { TestTimers } from '../../../protocol/testing/timers.ts'
import { Places } from './places.ts'

const bounds = { atOnce: 2, waiting: 1, waitMs: 1000 }

test('so many are taken at once, and one that is given back goes to who waits', async () => {
  const timers = new TestTimers()
  const places = new Places(bounds, timers)
  const [first, second] = [await places.take(), await places.take()]
  const waiting = places.take()
  expect(await places.take()).toBeUndefined()
  first?.[Symbol.dispose]()
  const third = await waiting
  expect(third).toBeDefined()
  expect(timers.count).toBe(0)

  first?.[Symbol.dispose]()
  const late = places.take()
  await timers.pass(1000)
  expect(await late).toBeUndefined()
  second?.[Symbol.dispose]()
  third?.[Symbol.dispose]()
  expect([await places.take(), await places.take()]).not.toContain(undefined)
})
