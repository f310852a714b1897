import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CREDITS_MAX } from '../contract/limits.ts'
import { fromHex, Malformed, toHex } from '../encoding/bytes.ts'
import { rotate } from '../identity/kel.ts'
import { agent, anyAid, anyUint, checkByteFormat, fixture, NOW_MS } from '../testing/agents.ts'
import { CLEARING_BYTES_MAX, ClearingStatement, clearingHolds } from './clearing.ts'

const vectors = fixture<{
  seed: string
  publicKey: string
  valid: { reason: string; statement: string; body: Record<string, unknown> }[]
  invalid: { reason: string; statement: string }[]
}>('payment/clearings.json')

describe('a statement of a creditor', () => {
  const seed = fromHex(vectors.seed)
  test.each(vectors.valid)('about $reason', ({ statement, body }) => {
    const read = ClearingStatement.decode(fromHex(statement))
    expect(read.body).toEqual(body)
    expect(ClearingStatement.verify(fromHex(vectors.publicKey), read)).toBe(true)
    expect(toHex(ClearingStatement.encode(ClearingStatement.sign(seed, read.body)))).toBe(statement)
    expect(fromHex(statement).length).toBeLessThanOrEqual(CLEARING_BYTES_MAX)
  })

  test.each(vectors.invalid)('is refused with $reason', ({ statement }) => {
    expect(() => ClearingStatement.decode(fromHex(statement))).toThrow(Malformed)
  })

  test('has the three properties of a byte format', () => {
    const any = fc
      .record({
        v: fc.constant(1 as const),
        creditor: anyAid,
        creditorKelSeq: anyUint,
        debtor: anyAid,
        amount: fc.integer({ min: 1, max: CREDITS_MAX }),
        reference: fc.string({ maxLength: 64 }),
        number: anyUint,
        at: anyUint,
      })
      .map(body => ClearingStatement.sign(seed, body))
    checkByteFormat(ClearingStatement, any, 50)
  })
})

describe('a statement holds', () => {
  const creditor = agent('creditor')
  const given = (creditorKelSeq: number, seed: Uint8Array, by = creditor.aid) =>
    ClearingStatement.sign(seed, {
      v: 1,
      creditor: by,
      creditorKelSeq,
      debtor: agent('debtor').aid,
      amount: 3,
      reference: 'transfer',
      number: 1,
      at: NOW_MS,
    })

  test('under the key state that it names, also one that is retired since', () => {
    const later = rotate(creditor.log, {
      seed: creditor.nextSeed,
      nextSeed: new Uint8Array(32).fill(9),
      ts: NOW_MS,
    })
    expect(clearingHolds(creditor.log, given(0, creditor.identitySeed))).toBe(true)
    expect(clearingHolds(later, given(0, creditor.identitySeed))).toBe(true)
    expect(clearingHolds(later, given(1, creditor.nextSeed))).toBe(true)
    expect(clearingHolds(later, given(1, creditor.identitySeed))).toBe(false)
    expect(clearingHolds(creditor.log, given(1, creditor.nextSeed))).toBe(false)
  })

  test('for its own creditor alone', () => {
    const other = agent('other')
    expect(clearingHolds(other.log, given(0, creditor.identitySeed))).toBe(false)
    expect(clearingHolds(creditor.log, given(0, creditor.identitySeed, other.aid))).toBe(false)
    expect(clearingHolds(creditor.log, given(0, other.identitySeed))).toBe(false)
  })
})
