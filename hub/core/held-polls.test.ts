/** Polls that wait: one a mailbox, bounded in number, each ended once. */
import { expect, test } from 'vitest'
import { HeldPolls } from './held-polls.ts'

const LONG_MS = 60_000
const stays = () => () => undefined

test('mail, a newer poll, a change of the signer and the client end the wait, each by its name', async () => {
  const polls = new HeldPolls(10)
  let gone = (): void => undefined
  const mail = polls.wait(1, LONG_MS, stays)
  const older = polls.wait(2, LONG_MS, stays)
  const newer = polls.wait(2, LONG_MS, stays)
  const left = polls.wait(3, LONG_MS, callback => {
    gone = callback
    return () => undefined
  })
  expect([polls.size, polls.holds(1), polls.holds(4)]).toEqual([3, true, false])
  polls.wake(1)
  polls.end(2)
  gone()
  expect(await Promise.all([mail, older, newer, left])).toEqual(['mail', 'ended', 'ended', 'gone'])
  expect(await polls.wait(4, 1, stays)).toBe('timeout')
  expect(polls.size).toBe(0)
})

test('a client that has gone already is not held, and nobody listens to it after the end', async () => {
  const polls = new HeldPolls(1)
  let stopped = 0
  const stop = () => {
    stopped += 1
  }
  expect(
    await polls.wait(1, LONG_MS, callback => {
      queueMicrotask(callback)
      return stop
    }),
  ).toBe('gone')
  expect([polls.size, stopped]).toEqual([0, 1])
})

test('at the cap none is held, but for a newer one of a mailbox that has one; at the end none at all', async () => {
  const polls = new HeldPolls(2)
  const waits = [polls.wait(1, LONG_MS, stays)]
  expect([polls.free, polls.mayHold(2)]).toEqual([true, true])
  waits.push(polls.wait(2, LONG_MS, stays))
  expect([polls.free, polls.mayHold(3), polls.mayHold(1)]).toEqual([false, false, true])
  polls.endAll()
  expect(await Promise.all(waits)).toEqual(['ended', 'ended'])
  expect([polls.free, polls.mayHold(1)]).toEqual([false, false])
})
