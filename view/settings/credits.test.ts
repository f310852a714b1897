/** Settings about credits: when they ask, and what they say. */
import { describe, expect, test } from 'vitest'
import { firstView, type View } from '../state.ts'
import { NOW } from '../testing.ts'
import { credits } from './credits.ts'
import type { Setting } from './setting.ts'

const row = (id: string) => credits.find(one => one.id === id) as Setting
const limits = { auto_max: 1, agent_max: 2, day_max: 30, payee_day_max: 20 }
const textOf = (given: Record<string, number>) =>
  Object.fromEntries(Object.entries(given).map(([name, value]) => [name, String(value)]))

describe('what is spent without asking', () => {
  const spend = row('spend')
  const kept = (more: Partial<typeof limits> = {}): View => ({
    ...firstView,
    spend: { ...limits, ...more, spent_today: 3 },
  })
  const asks = (more: Partial<typeof limits>, view = kept()) =>
    spend.asks?.(textOf({ ...limits, ...more }), view)

  test('is asked about where any limit rises, and something may be paid at all', () => {
    expect(asks({})).toBeUndefined()
    expect(asks({ day_max: 29, auto_max: 0 })).toBeUndefined()
    for (const name of ['auto_max', 'agent_max', 'day_max', 'payee_day_max'] as const)
      expect(asks({ [name]: limits[name] + 1 })).toBeDefined()
    expect(asks({ auto_max: 0, agent_max: 0, day_max: 99 })).toBeUndefined()
    expect(asks({}, firstView)?.asks).toBe('Let up to 30 credits a day go without asking you?')
    expect(asks({ auto_max: 3 })?.facts).toEqual([
      ['at once', '3 credits by the node, 2 by an agent'],
      ['one agent', 'at most 20 credits a day'],
    ])
  })

  test('of a day is at least as much as one payment', () => {
    const field = (more: Partial<typeof limits>) =>
      spend.fault?.(textOf({ ...limits, ...more }), kept())?.field
    expect(field({})).toBeUndefined()
    expect(field({ day_max: 2, payee_day_max: 2 })).toBeUndefined()
    expect(field({ day_max: 1 })).toBe('day_max')
    expect(field({ payee_day_max: 1 })).toBe('payee_day_max')
    expect(field({ auto_max: 0, agent_max: 0, day_max: 0, payee_day_max: 0 })).toBeUndefined()
  })

  test('is said by the most that one payment may be, and set back as it was', () => {
    expect(spend.shows?.(firstView, NOW)).toBeUndefined()
    expect(spend.shows?.(kept(), NOW)).toBe('up to 2 credits go without asking you, 30 a day')
    expect(spend.shows?.(kept({ auto_max: 0, agent_max: 0 }), NOW)).toBe('nothing is paid without asking you')
    expect(spend.undo?.({}, firstView)).toBeUndefined()
    expect(spend.undo?.({}, kept())?.order).toEqual({ name: 'spendSet', input: limits })
  })
})

describe('a price', () => {
  const price = row('price')
  const asked = (prices: { capability: string; amount: number; starts?: number }[]): View => ({
    ...firstView,
    prices: { prices } as never,
  })

  test('is for a task in words, or for calls of a capability', () => {
    expect(price.shows?.(firstView, NOW)).toBeUndefined()
    expect(price.shows?.(asked([]), NOW)).toBe('your work costs nothing')
    const both = asked([
      { capability: 'task', amount: 7 },
      { capability: 'a.b', amount: 1 },
    ])
    expect(price.shows?.(both, NOW)).toBe('a task in words: 7 credits · a.b: 1 credit')
    const [field] = price.fields
    expect(field?.kind === 'choice' && field.choices(firstView).map(({ value }) => value)).toEqual(['task'])
  })

  test('keeps no more at a withdrawal than the work costs', () => {
    const fault = (amount: number, starts: string) =>
      price.fault?.({ amount: String(amount), starts }, firstView)?.field
    expect([fault(3, ''), fault(3, '3'), fault(3, '4')]).toEqual([undefined, undefined, 'starts'])
    expect(price.input({ capability: 'task', amount: '3', starts: '' }, firstView)).toEqual({
      capability: 'task',
      amount: 3,
    })
    expect(price.input({ capability: 'task', amount: '3', starts: '0' }, firstView)).toMatchObject({
      starts: 0,
    })
  })

  test('is said as the node has it, and set back as it was', () => {
    const values = { capability: 'task' }
    expect(price.says({ prices: [{ capability: 'task', amount: 7 }] }, values)).toBe(
      'a task in words costs 7 credits',
    )
    expect(price.says({ prices: [] }, values)).toBe('a task in words costs nothing')
    expect(price.undo?.(values, firstView)).toBeUndefined()
    expect(price.undo?.(values, asked([{ capability: 'task', amount: 7, starts: 4 }]))).toEqual({
      order: { name: 'priceSet', input: { capability: 'task', amount: 7, starts: 4 } },
      says: 'a task in words costs 7 credits again',
    })
    expect(price.undo?.(values, asked([]))).toEqual({
      order: { name: 'priceSet', input: { capability: 'task', amount: 0 } },
      says: 'a task in words costs nothing again',
    })
  })
})
