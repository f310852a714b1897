/** What is thrown inside the core, as a caller is told it. */
import { expect, test } from 'vitest'
import { StoreAway, StoreBroken, StoreFull, StoreRefused } from '../store/port.ts'
import { Refusal, refusalOf } from './refusal.ts'

test('a refusal is told as it is, a store that takes no writes as overload, a bug not at all', () => {
  const refusal = new Refusal('expired')
  expect(refusalOf(refusal)).toBe(refusal)
  for (const trouble of [new StoreFull('full'), new StoreBroken('broken')])
    expect(refusalOf(trouble)?.code).toBe('overloaded')
  expect(refusalOf(new StoreFull('full'))?.facts).toEqual({
    why: 'the hub has no room for what this would store',
    retryAfterMs: 30_000,
  })
  expect(refusalOf(new StoreAway('away'))).toMatchObject({
    code: 'overloaded',
    facts: { retryAfterMs: 5000 },
  })
  for (const bug of [new Error('bug'), new StoreRefused('in use'), 'text', undefined])
    expect(refusalOf(bug)).toBeUndefined()
})
