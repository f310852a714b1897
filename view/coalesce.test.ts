/** What an event puts out of date, and when it is drawn. */
import { expect, test } from 'vitest'
import { clean, frameDelay, isClean, retryDelay, soiled } from './coalesce.ts'

const parts = (event: string, data: unknown = {}) => {
  const { rows, ...others } = soiled(clean, { id: null, event, data })
  return [...rows, ...Object.entries(others).flatMap(([name, is]) => (is ? [name] : []))]
}

test.each([
  ['inbox', ['a', 'status']],
  ['message', ['a', 'status']],
  ['delivery', ['a', 'status']],
  ['autoreply', ['a', 'settings', 'status']],
  ['evidence', ['evidence', 'status']],
  ['hub', ['status']],
  ['settings', ['settings', 'status']],
  ['open', ['all']],
  ['reset', ['all']],
  ['other', []],
])('%s puts %j out of date', (event, expected) =>
  expect(parts(event, { interaction_id: 'a' }).sort()).toEqual([...expected].sort()),
)

test('a row is named once, and an event without one names none', () => {
  const once = soiled(clean, { id: null, event: 'message', data: { interaction_id: 'a' } })
  expect(soiled(once, { id: null, event: 'message', data: { interaction_id: 'a' } }).rows).toBe(once.rows)
  expect(parts('message', null)).toEqual(['status'])
})

test('only what nothing has put out of date is clean', () => {
  expect(isClean(clean)).toBe(true)
  expect(isClean({ ...clean, rows: new Set(['a']) })).toBe(false)
  for (const name of ['status', 'evidence', 'settings', 'all'])
    expect(isClean({ ...clean, [name]: true })).toBe(false)
})

test('a frame is drawn at once, or a tenth of a second after the one before', () => {
  expect([frameDelay(undefined, 5), frameDelay(1000, 1000), frameDelay(1000, 1040)]).toEqual([0, 100, 60])
  expect([frameDelay(1000, 1100), frameDelay(1000, 2000), frameDelay(1000, 999)]).toEqual([0, 0, 0])
})

test('a node that is gone is tried again after half a second, then ever later, ten seconds at most', () => {
  expect([0, 1, 4, 5, 50].map(attempt => retryDelay(attempt, 1))).toEqual([500, 1000, 8000, 10_000, 10_000])
  expect(retryDelay(0, 0)).toBe(250)
})
