import { expect, test } from 'vitest'
import { TestTimers } from '../../../protocol/testing/timers.ts'
import { Pace } from './pace.ts'

test('so many are taken in a second, and as many again in the next one', async () => {
  const timers = new TestTimers()
  const pace = new Pace(2, timers)
  const three = () => [pace.take(), pace.take(), pace.take()]
  expect(three()).toEqual([true, true, false])
  await timers.pass(999)
  expect(pace.take()).toBe(false)
  await timers.pass(1)
  expect(three()).toEqual([true, true, false])
})
