/** Times on a screen. */
import { expect, test } from 'vitest'
import { age, clock, day, hourAge, sayHour, size, span, took } from './ages.ts'
import { NOW } from './testing.ts'

test.each([
  [0, 'now'],
  [-1000, 'now'],
  [59_999, 'now'],
  [60_000, '1m'],
  [3_600_000, '1h'],
  [86_400_000, '1d'],
  [14 * 86_400_000, '2w'],
])('%i ms ago is %s', (ms, says) => expect(age(NOW - ms, NOW)).toBe(says))

const HOUR = 3_600_000
test.each([
  [0, '<1h', 'within the hour'],
  [HOUR - 1, '<1h', 'within the hour'],
  [HOUR, '~1h', 'about an hour ago'],
  [5.5 * HOUR, '~5h', 'about 5 hours ago'],
  [49 * HOUR, '2d', '2d ago'],
  [100 * 24 * HOUR, 'Aug 26', 'Aug 26'],
])('an hour that began %i ms ago is %s', (ms, short, long) =>
  expect([hourAge(NOW - ms, NOW), sayHour(NOW - ms, NOW)]).toEqual([short, long]),
)

test('a day is told without a clock', () => {
  const midnight = NOW - 12 * HOUR
  expect([day(midnight, NOW), day(midnight - 1, NOW)]).toEqual(['today', '21 Nov 2026'])
})

test('what is older than ten weeks has its month', () => {
  expect(age(NOW - 100 * 86_400_000, NOW)).toMatch(/^Aug 26$/)
})

test('a span is never negative', () => expect(span(-5_000)).toBe('0s'))

test('the clock of another day comes with the day', () => {
  expect(clock(NOW, NOW)).toMatch(/^\d\d:\d\d$/)
  expect(clock(NOW - 3 * 86_400_000, NOW)).toMatch(/^19 Nov \d\d:\d\d$/)
  expect(clock(NOW - 400 * 86_400_000, NOW)).toMatch(/^18 Oct 2025 \d\d:\d\d$/)
})

test.each([
  [0, '0 B'],
  [999, '999 B'],
  [1_000, '1.0 kB'],
  [1_250_000, '1.3 MB'],
  [64 * 1024 * 1024, '67.1 MB'],
  [999_999, '1.0 MB'],
  [999_499, '999 kB'],
  [999_500, '1.0 MB'],
  [99_400, '99.4 kB'],
  [99_500, '100 kB'],
  [5_000_000_000_000_000, '5000 TB'],
])('%i bytes are %s', (bytes, says) => expect(size(bytes)).toBe(says))

test.each([
  [0, '0.0 s'],
  [9_940, '9.9 s'],
  [9_950, '10 s'],
  [61_000, '1m'],
])('what took %i ms took %s', (ms, says) => expect(took(ms)).toBe(says))
