/** Polls that wait: one a mailbox, bounded in number, each ended once. */
import { expect, test, vi } from 'vitest'
import { systemTimers } from '../../protocol/timers.ts'
import { HeldPolls } from './held-polls.ts'
import { wakeUpsInProcess } from './in-process/wake-ups.ts'
import type { WakeUps } from './ports/wake-ups.ts'

const LONG_MS = 60_000
const stays = () => () => undefined

test('mail, a newer poll, a change of the signer and the client end the wait, each by its name', async () => {
  const polls = new HeldPolls(10, wakeUpsInProcess(), systemTimers)
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
  expect(await Promise.all([mail, older, newer, left])).toEqual([
    { end: 'mail', endedOlder: false },
    { end: 'newer', endedOlder: false },
    { end: 'ended', endedOlder: true },
    { end: 'gone', endedOlder: false },
  ])
  expect(await polls.wait(4, 1, stays)).toEqual({ end: 'timeout', endedOlder: false })
  expect(polls.size).toBe(0)
})

test('a client that has gone already is not held, and nobody listens to it after the end', async () => {
  const polls = new HeldPolls(1, wakeUpsInProcess(), systemTimers)
  let stopped = 0
  const stop = () => {
    stopped += 1
  }
  expect(
    await polls.wait(1, LONG_MS, callback => {
      queueMicrotask(callback)
      return stop
    }),
  ).toMatchObject({ end: 'gone' })
  expect([polls.size, stopped]).toEqual([0, 1])
})

test('at the cap none is held, but for a newer one of a mailbox that has one; at the end none at all', async () => {
  const polls = new HeldPolls(2, wakeUpsInProcess(), systemTimers)
  const waits = [polls.wait(1, LONG_MS, stays)]
  expect([polls.free, polls.mayHold(2)]).toEqual([true, true])
  waits.push(polls.wait(2, LONG_MS, stays))
  expect([polls.free, polls.mayHold(3), polls.mayHold(1)]).toEqual([false, false, true])
  polls.endAll()
  expect((await Promise.all(waits)).map(({ end }) => end)).toEqual(['ended', 'ended'])
  expect([polls.free, polls.mayHold(1)]).toEqual([false, false])
})

test('where word may be lost, a poll looks by itself, and no more once it has ended', async () => {
  vi.useFakeTimers()
  try {
    const polls = new HeldPolls(2, { ...wakeUpsInProcess(), lookEveryMs: 3000 }, systemTimers)
    const looks = [false, false, true]
    const look = vi.fn(async () => looks.shift() ?? false)
    const found = polls.wait(1, LONG_MS, stays, look)
    const broken = polls.wait(2, LONG_MS, stays, () => Promise.reject(new Error('no store')))
    await vi.advanceTimersByTimeAsync(9000)
    expect([(await found).end, polls.size]).toEqual(['mail', 1])
    await vi.advanceTimersByTimeAsync(LONG_MS)
    expect([(await broken).end, look.mock.calls.length, vi.getTimerCount()]).toEqual(['timeout', 3, 0])
  } finally {
    vi.useRealTimers()
  }
})

test('a poll that ends one at another process says so, where word of it comes in time', async () => {
  /** Each process hears its own word at once, and that of the other one later, as over a database. */
  const [one, other] = [wakeUpsInProcess(), wakeUpsInProcess()]
  const told = (own: WakeUps, far: WakeUps): WakeUps => ({
    ...own,
    tell(mailbox, what) {
      own.tell(mailbox, what)
      setImmediate(() => far.tell(mailbox, what))
    },
  })
  const here = new HeldPolls(1, told(one, other), systemTimers)
  const there = new HeldPolls(1, told(other, one), systemTimers)
  const older = here.wait(1, LONG_MS, stays)
  await new Promise(setImmediate)
  const newer = there.wait(1, LONG_MS, stays)
  expect(await older).toEqual({ end: 'newer', endedOlder: false })
  await new Promise(setImmediate)
  there.wake(1)
  expect(await newer).toEqual({ end: 'mail', endedOlder: true })
})

test('a poll whose answer is there already leaves those of other processes alone', async () => {
  const wakeUps = wakeUpsInProcess()
  const [here, there] = [new HeldPolls(1, wakeUps, systemTimers), new HeldPolls(1, wakeUps, systemTimers)]
  const older = here.wait(1, LONG_MS, stays)
  const newer = there.wait(1, LONG_MS, stays)
  expect([(await older).end, there.holds(1)]).toEqual(['newer', true])
  here.letGo(1)
  expect(there.holds(1)).toBe(true)
  here.wake(1)
  expect((await newer).end).toBe('mail')
})
