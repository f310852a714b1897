import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { defaultLimits, type Limits } from './core/limits.ts'
import { limitSettings, limitsDocument, limitsOf } from './limits-config.ts'

const MIB = 1024 * 1024
const settings = Object.entries(limitSettings)

test('docs/limits.md is what the table says (npm run -s docs writes it)', () => {
  expect(readFileSync(new URL('../docs/limits.md', import.meta.url), 'utf8')).toBe(limitsDocument())
})

test('without settings the limits are those of the interface', () => {
  const shown = (names: string[]) => names.map(name => limitSettings[name]?.read(defaultLimits))
  expect(shown(['mailbox_envelopes', 'mailbox_bytes', 'envelope_bytes', 'envelope_days'])).toEqual([
    5000,
    1024 * MIB,
    96 * MIB,
    14,
  ])
  expect(shown(['stranger_per_minute', 'stranger_envelopes', 'stranger_bytes'])).toEqual([30, 500, 64 * MIB])
  expect(shown(['sender_per_minute', 'sender_waiting'])).toEqual([3, 20])
  expect(shown(['revocation_days', 'revocations', 'delivery_days', 'review_days'])).toEqual([
    31, 100_000, 7, 30,
  ])
  expect(shown(['probation_hours', 'pow_bits', 'poll_wait_seconds'])).toEqual([72, 22, 55])
  expect(shown(['status_per_minute', 'status_burst', 'push_per_minute', 'push_burst'])).toEqual([
    600, 50, 60, 20,
  ])
})

test('probation can be set from none to thirty days', () => {
  expect([
    limitsOf({ probation_hours: 0 }).probationMs,
    limitsOf({ probation_hours: 720 }).probationMs,
  ]).toEqual([0, 30 * 24 * 3_600_000])
})

describe('each setting', () => {
  test.each(settings)('%s has a default within its bounds', (_, { min, max, read }) => {
    const value = read(defaultLimits)
    if (value !== undefined) expect([value >= min, value <= max]).toEqual([true, true])
  })

  test.each(settings)('%s changes one limit, and only that one', (name, { min, max, read }) => {
    const value = read(defaultLimits) === max ? min : max
    const limits = limitsOf({ [name]: value })
    expect(read(limits)).toBeCloseTo(value)
    const changed = Object.keys(defaultLimits).filter(
      key =>
        JSON.stringify(limits[key as keyof Limits]) !== JSON.stringify(defaultLimits[key as keyof Limits]),
    )
    expect(changed.length).toBe(1)
  })
})

test('every limit can be set', () => {
  const all = limitsOf(
    Object.fromEntries(
      settings.map(([name, { min, max, read }]) => [name, read(defaultLimits) === max ? min : max]),
    ),
  )
  const unchanged = Object.keys(defaultLimits).filter(
    key => JSON.stringify(all[key as keyof Limits]) === JSON.stringify(defaultLimits[key as keyof Limits]),
  )
  expect(unchanged).toEqual([])
})
