/** What a hub's dates tell of its clock, whatever their answers took. */
import { describe, expect, test } from 'vitest'
import { HubDate } from './hub-date.ts'

const START = Date.parse('2026-11-28T12:00:00Z')
const HELD_MS = 25_000
const HOURS_MS = 7 * 3_600_000

const dated = (ms: number) => new Response(null, { headers: { Date: new Date(ms).toUTCString() } })
/** Of a hub that was asked just now, whose clock agrees. */
function known(): HubDate {
  const date = new HubDate()
  date.note(dated(START), { sentAt: START, seenAt: START + 20 })
  return date
}

describe('the time of a hub', () => {
  test('stays where an answer tells the time at which it was asked for', () => {
    const date = known()
    date.note(dated(START + 1000), { sentAt: START + 1000, seenAt: START + 1000 + HELD_MS })
    expect(date.apartMs).toBe(-20)
  })

  test('stays where an answer lay on this machine while it slept', () => {
    const date = known()
    date.note(dated(START + 5000), { sentAt: START + 1000, seenAt: START + HOURS_MS })
    expect(date.apartMs).toBe(-20)
  })

  test('is the one of a quick answer that was set back, and of any that was set ahead', () => {
    const date = known()
    date.note(dated(START - HOURS_MS), { sentAt: START + 1000, seenAt: START + 1020 })
    expect(date.apartMs).toBe(-HOURS_MS - 1020)
    date.note(dated(START + HOURS_MS), { sentAt: START + 2000, seenAt: START + 2000 + HELD_MS })
    expect(date.apartMs).toBe(HOURS_MS - 2000 - HELD_MS)
  })

  test('is set back by an answer that was under way for less', () => {
    const date = known()
    date.note(dated(START - HOURS_MS), { sentAt: START, seenAt: START + HELD_MS })
    expect(date.apartMs).toBe(-HOURS_MS - HELD_MS)
  })

  test('is unknown where no date was told', () => {
    const date = new HubDate()
    date.note(new Response(null), { sentAt: START, seenAt: START })
    expect([date.apartMs, date.timeMs(START)]).toEqual([undefined, undefined])
  })
})
