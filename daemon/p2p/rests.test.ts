import { expect, test } from 'vitest'
import { TestTimers } from '../../protocol/testing/timers.ts'
import { Rests } from './rests.ts'

test('an address rests for a minute, and no other one of that agent, nor of another', async () => {
  const timers = new TestTimers()
  const rests = new Rests(timers)
  expect(rests.includes('bob', 'a:1')).toBe(false)
  rests.begin('bob', 'a:1')
  expect([
    rests.includes('bob', 'a:1'),
    rests.includes('bob', 'b:1'),
    rests.includes('carol', 'a:1'),
  ]).toEqual([true, false, false])
  await timers.pass(59_999)
  expect(rests.includes('bob', 'a:1')).toBe(true)
  await timers.pass(1)
  expect(rests.includes('bob', 'a:1')).toBe(false)
})

test('a thousand rest, and the oldest is forgotten', () => {
  const rests = new Rests(new TestTimers())
  for (let i = 0; i <= 1000; i++) rests.begin(`agent-${i}`, 'a:1')
  const resting = [0, 1, 1000].map(i => rests.includes(`agent-${i}`, 'a:1'))
  expect(resting).toEqual([false, true, true])
})
