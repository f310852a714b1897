/** Figures and times as the operator's page writes them. */
import { describe, expect, test } from 'vitest'
import { aidOf, bytes, day, number, stars, time } from './parts.ts'

test.each([
  [0, '0 bytes'],
  [1023, '1023 bytes'],
  [1024, '1.0 KiB'],
  [1536, '1.5 KiB'],
  [5 * 1024 ** 3, '5.0 GiB'],
  [3 * 1024 ** 5, '3072.0 TiB'],
])('%i bytes are %s', (value, shown) => {
  expect(bytes(value)).toBe(shown)
})

test('numbers are grouped, and an AID is cut where it can be read whole elsewhere', () => {
  expect(number(1234567)).toBe('1,234,567')
  const aid = `A${'x'.repeat(43)}`
  expect(aidOf(aid)).toMatchObject({ props: { title: aid }, kids: ['Axxxxxxxxx…'] })
})

describe('a time', () => {
  const iso = '2026-01-02T23:30:00.000Z'
  test('that is not known is said so', () => {
    expect(time(undefined)).toBe('never')
  })

  test('names its whole self to whoever asks, and another day than today by its date', () => {
    expect(time(iso)).toMatchObject({ props: { datetime: iso, title: iso }, kids: ['2 Jan 2026'] })
    const now = new Date().toISOString()
    expect(time(now)).toMatchObject({ kids: [expect.stringMatching(/^\d{2}:\d{2}$/)] })
  })

  test('of which only the day is known has no hours, whatever the clock of the reader says', () => {
    expect(day('2026-01-02T00:00:00.000Z')).toMatchObject({ kids: ['2 Jan 2026'] })
  })
})

test('ratings say their average and how many they are, or that there are none', () => {
  expect(stars(0, 0)).toMatchObject({ kids: ['no reviews'] })
  expect(stars(4.25, 3)).toMatchObject({ kids: ['4.3 of 5', { kids: [' (3)'] }] })
})
