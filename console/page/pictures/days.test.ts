/** The days of the picture. */
import { describe, expect, test } from 'vitest'
import type { InteractionSummary } from '../../../protocol/control/shapes.ts'
import { daysOf, kindOf } from './days.ts'

const noon = new Date(2026, 2, 29, 12).getTime()
const item = (given: Partial<InteractionSummary>) =>
  ({ side: 'sent', created_at: noon, ...given }) as InteractionSummary
const hours = (n: number) => n * 3_600_000

describe('the last fourteen days', () => {
  test('end today and begin at midnights, also where the clock changes', () => {
    const days = daysOf([], noon)
    expect(days).toHaveLength(14)
    expect(days.map(({ start }) => new Date(start).getHours())).toEqual(Array(14).fill(0))
    expect(new Date(days.at(-1)?.start ?? 0).getDate()).toBe(29)
  })

  test('count each task on the day on which it began, and none that is older', () => {
    const days = daysOf(
      [
        item({ side: 'received' }),
        item({ created_at: noon - hours(13) }),
        item({ created_at: noon - 15 * hours(24) }),
        item({ delivery: { state: 'queued' } }),
      ],
      noon,
    )
    expect(days.at(-1)?.counts).toEqual({ came: 1, delivered: 0, waiting: 1, failed: 0 })
    expect(days.at(-2)?.counts).toEqual({ came: 0, delivered: 1, waiting: 0, failed: 0 })
    expect(days.reduce((sum, { counts }) => sum + Object.values(counts).reduce((a, b) => a + b), 0)).toBe(3)
  })
})

test('a task of a clock that is ahead counts today, and one of a day ahead nowhere', () => {
  const today = (ms: number) => daysOf([item({ created_at: noon + ms })], noon).at(-1)?.counts.delivered
  expect([today(hours(24) - 1), today(hours(24))]).toEqual([1, 0])
})

test.each([
  [{ side: 'received' }, 'came'],
  [{ delivery: { state: 'at_hub' } }, 'waiting'],
  [{ delivery: { state: 'delivered' } }, 'delivered'],
  [{ delivery: { state: 'failed' } }, 'failed'],
  [{ delivery: { state: 'delivered' }, state: 'failed' }, 'failed'],
  [{}, 'delivered'],
] as const)('%j is %s', (given, kind) => {
  expect(kindOf(item(given as Partial<InteractionSummary>))).toBe(kind)
})
