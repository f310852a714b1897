import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fromHex, Malformed, toHex } from '../encoding/bytes.ts'
import { checkByteFormat, fixture } from '../testing/agents.ts'
import { Acceptance, type Clause, comparisons, unmet } from './acceptance.ts'
import { Effect } from './effect.ts'

const vectors = fixture<{
  cases: { reason: string; acceptance: string; clauses: Clause[]; effect: string; unmet: number[] }[]
  invalid: { reason: string; acceptance: string }[]
}>('effect/acceptance.json')

describe('what a requester asks of an effect', () => {
  test.each(vectors.cases)('$reason', ({ acceptance, clauses, effect, unmet: expected }) => {
    const asked = Acceptance.decode(fromHex(acceptance))
    expect(asked).toEqual({ clauses })
    expect(toHex(Acceptance.encode(asked))).toBe(acceptance)
    expect(unmet(asked, Effect.decode(fromHex(effect)))).toEqual(expected.map(i => clauses[i]))
  })

  test.each(vectors.invalid)('is refused with $reason', ({ acceptance }) => {
    expect(() => Acceptance.decode(fromHex(acceptance))).toThrow(Malformed)
  })

  test('the three properties of a byte format hold', () => {
    const clause = fc.record({
      metric: fc.string({ maxLength: 20 }).filter(text => text.isWellFormed()),
      op: fc.constantFrom(...comparisons),
      value: fc.double({ noNaN: true, noDefaultInfinity: true }).map(value => value + 0),
    })
    checkByteFormat(Acceptance, fc.record({ clauses: fc.array(clause, { minLength: 1, maxLength: 5 }) }), 60)
  })
})
