/** How fast bytes come of which there may be any number. */
import { expect, test } from 'vitest'
import { TestTimers } from '../../protocol/testing/timers.ts'
import { Pace } from './pace.ts'

test('all together come at one rate, each in its turn, and a little at once after a rest', async () => {
  const timers = new TestTimers(0)
  const pace = new Pace(timers, 1000)
  const order: string[] = []
  const take = (name: string, bytes: number) => pace.take(bytes).then(() => order.push(name))
  await take('at once', 50_000)
  const waiting = [take('one', 10_000), take('other', 10_000), take('last', 80_000)]
  await timers.pass(11)
  expect(order).toEqual(['at once', 'one'])
  await timers.pass(10)
  expect(order).toEqual(['at once', 'one', 'other'])
  await timers.pass(80)
  await Promise.all(waiting)
  expect(order).toEqual(['at once', 'one', 'other', 'last'])
})
