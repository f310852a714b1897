import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { defaultLimits, type Limits } from './core/limits.ts'
import { limitSettings, limitsDocument, limitsOf } from './limits-config.ts'

const settings = Object.entries(limitSettings)

test('docs/limits.md is what the table says (npm run -s docs writes it)', () => {
  expect(readFileSync(new URL('../docs/limits.md', import.meta.url), 'utf8')).toBe(limitsDocument())
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
