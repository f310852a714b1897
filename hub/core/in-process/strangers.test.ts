/** Fair shares of a recipient's room for first contacts. */
import { beforeEach, describe, expect, test } from 'vitest'
import { random } from '../../testing/hub.ts'
import { type StrangerLimits, Strangers } from './strangers.ts'

const NOW_MS = 1_800_000_000_000
const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const roomy: StrangerLimits = {
  perMinute: 100,
  senderPerDay: 100,
  senderPerMinute: 100,
  senderWaiting: 100,
  unknown: 0,
}
const untilMinute = MINUTE_MS - (NOW_MS % MINUTE_MS)
const untilDay = DAY_MS - (NOW_MS % DAY_MS)

/** How many wait in the mailbox, as the store says. */
let stored = 0
const open = (lastMs = 0) => new Strangers({ random, lastMs, waitingIn: async () => stored })

let strangers: Strangers
let share: string
beforeEach(() => {
  stored = 0
  strangers = open()
  share = strangers.share('A-sender', 1)
})
const wait = (limits: Partial<StrangerLimits>, of = share, mailbox = 1, nowMs = NOW_MS) =>
  strangers.waitMs(of, mailbox, { ...roomy, ...limits }, nowMs)
const count = (times: number, of = share, mailbox = 1) => {
  for (let i = 0; i < times; i++) strangers.count(of, mailbox, NOW_MS)
}

test('a share names a sender towards one mailbox, under a key of this start only', () => {
  const others = [strangers.share('A-sender', 2), strangers.share('A-other', 1)]
  expect(new Set([share, ...others, open().share('A-sender', 1)]).size).toBe(4)
  expect(strangers.share('A-sender', 1)).toBe(share)
})

describe('one more has to wait', () => {
  test('until the next day where the recipient takes none, or the sender has used its day', () => {
    expect([wait({ senderPerDay: 0 }), wait({ senderPerDay: 2 })]).toEqual([untilDay, 0])
    count(1)
    expect(wait({ senderPerDay: 2 })).toBe(0)
    count(1)
    expect([wait({ senderPerDay: 2 }), wait({ senderPerDay: 3 })]).toEqual([untilDay, 0])
    expect(wait({ senderPerDay: 2 }, strangers.share('A-other', 1))).toBe(0)
  })

  test('until the next minute once sender or mailbox have used it, whichever is less', () => {
    count(2)
    const other = strangers.share('A-other', 1)
    expect([wait({ senderPerMinute: 2 }), wait({ senderPerMinute: 3 })]).toEqual([untilMinute, 0])
    expect([wait({ perMinute: 2 }), wait({ perMinute: 3 })]).toEqual([untilMinute, 0])
    expect([wait({ perMinute: 2 }, other), wait({ senderPerMinute: 2 }, other)]).toEqual([untilMinute, 0])
    expect(wait({ senderPerMinute: 2 }, share, 1, NOW_MS + untilMinute)).toBe(0)
  })

  test('a minute while as many of the sender wait as may, until one is collected', () => {
    strangers.noteQueued(share, 1, 7)
    strangers.noteQueued(share, 1, 8)
    expect([wait({ senderWaiting: 2 }), wait({ senderWaiting: 3 })]).toEqual([MINUTE_MS, 0])
    strangers.noteGone(2, 7)
    strangers.noteGone(1, 9)
    expect(wait({ senderWaiting: 2 })).toBe(MINUTE_MS)
    strangers.noteGone(1, 7)
    expect([wait({ senderWaiting: 2 }), wait({ senderWaiting: 1 })]).toEqual([0, MINUTE_MS])
    strangers.noteGone(1, 7)
    expect(wait({ senderWaiting: 1 })).toBe(MINUTE_MS)
    strangers.noteGone(1, 8)
    expect(wait({ senderWaiting: 1 })).toBe(0)
  })

  test('no longer for what waited in a mailbox that was emptied', () => {
    strangers.noteQueued(share, 1, 7)
    strangers.noteQueued(strangers.share('A-sender', 2), 2, 7)
    strangers.forget(1)
    expect(wait({ senderWaiting: 1 })).toBe(0)
    expect(wait({ senderWaiting: 1 }, strangers.share('A-sender', 2), 2)).toBe(MINUTE_MS)
  })
})

describe('after a start', () => {
  const used = (max: number) => [{ senderPerDay: max }, { perMinute: max }, { senderPerMinute: max }]
  const waits = (limits: Partial<StrangerLimits>[], nowMs: number) =>
    limits.map(limit => wait(limit, share, 1, nowMs) > 0)

  test('in the same minute and day every share is half used, in the next ones none is', () => {
    strangers = open(NOW_MS)
    share = strangers.share('A-sender', 1)
    expect(waits(used(1), NOW_MS)).toEqual([false, false, false])
    strangers.count(share, 1, NOW_MS)
    expect(waits(used(3), NOW_MS)).toEqual([false, false, false])
    strangers.count(share, 1, NOW_MS)
    expect(waits(used(3), NOW_MS)).toEqual([true, true, true])
    expect(waits(used(5), NOW_MS)).toEqual([false, false, false])
    expect(waits(used(3), NOW_MS + MINUTE_MS)).toEqual([true, false, false])
    expect(waits(used(3), NOW_MS + DAY_MS)).toEqual([false, false, false])
  })

  test('later than the minute and day of the process before it none is', () => {
    strangers = open(NOW_MS - DAY_MS)
    share = strangers.share('A-sender', 1)
    strangers.count(share, 1, NOW_MS)
    expect(waits(used(2), NOW_MS)).toEqual([false, false, false])
  })

  test('what waits of forgotten senders counts for each as half of its share at most, until it is collected', async () => {
    stored = 3
    expect(await strangers.unknownIn(1)).toBe(3)
    const limits = async (senderWaiting: number) => ({
      senderWaiting,
      unknown: await strangers.unknownIn(1),
    })
    strangers.noteQueued(share, 1, 9)
    stored = 4
    expect([wait(await limits(2)), wait(await limits(3)), wait(await limits(5))]).toEqual([MINUTE_MS, 0, 0])
    strangers.noteQueued(share, 1, 10)
    stored = 5
    expect([wait(await limits(5)), wait(await limits(6))]).toEqual([0, 0])
    expect([wait(await limits(4)), wait(await limits(3))]).toEqual([MINUTE_MS, MINUTE_MS])
    stored = 3
    expect([await strangers.unknownIn(1), wait(await limits(4))]).toEqual([1, 0])
    stored = 2
    expect(await strangers.unknownIn(1)).toBe(0)
    stored = 9
    expect(await strangers.unknownIn(1)).toBe(0)
  })
})

test('mail of before the start that was collected meanwhile counts for nobody', async () => {
  strangers.noteQueued(share, 1, 7)
  expect(await strangers.unknownIn(1)).toBe(0)
  expect(
    wait({ senderWaiting: 1, unknown: await strangers.unknownIn(1) }, strangers.share('A-other', 1)),
  ).toBe(0)
})
