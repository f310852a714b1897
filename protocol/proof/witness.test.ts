import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fromHex, Malformed, toHex } from '../encoding/bytes.ts'
import { decodeKel, rotate, verifyKel } from '../identity/kel.ts'
import { agent, anyAid, anyUint, bytesOf, checkByteFormat, fixture, NOW_MS } from '../testing/agents.ts'
import { chainDid } from './evidence.ts'
import { hubOfChain, statementHolds, WITNESS_BYTES_MAX, WitnessStatement } from './witness.ts'

const vectors = fixture<{
  seed: string
  publicKey: string
  valid: { reason: string; statement: string; body: Record<string, unknown> }[]
  invalid: { reason: string; statement: string }[]
  histories: {
    kels: Record<string, string>
    cases: { reason: string; kel: string; holds: boolean; statement: string }[]
  }
}>('payment/witnesses.json')

describe('a statement of a witness', () => {
  const seed = fromHex(vectors.seed)
  test.each(vectors.valid)('about $reason', ({ statement, body }) => {
    const read = WitnessStatement.decode(fromHex(statement))
    expect({ ...read.body, headId: toHex(read.body.headId) }).toEqual(body)
    expect(WitnessStatement.verify(fromHex(vectors.publicKey), read)).toBe(true)
    expect(toHex(WitnessStatement.encode(WitnessStatement.sign(seed, read.body)))).toBe(statement)
    expect(fromHex(statement).length).toBeLessThanOrEqual(WITNESS_BYTES_MAX)
  })

  test.each(vectors.invalid)('is refused with $reason', ({ statement }) => {
    expect(() => WitnessStatement.decode(fromHex(statement))).toThrow(Malformed)
  })

  test('has the three properties of a byte format', () => {
    const any = fc
      .record({
        v: fc.constant(1 as const),
        chainDid: anyAid.map(chainDid),
        seq: anyUint,
        headId: bytesOf(32).map(digest => Uint8Array.of(1, 0x71, 0x12, 0x20, ...digest)),
        observedAt: anyUint,
        witness: anyAid,
        witnessKelSeq: anyUint,
      })
      .map(body => WitnessStatement.sign(seed, body))
    checkByteFormat(WitnessStatement, any, 50)
  })

  test('names the hub of its chain, and nothing else is a name of one', () => {
    const { aid } = agent('hub')
    expect(hubOfChain(chainDid(aid))).toBe(aid)
    for (const name of ['', 'did:svc:', aid, `did:svc:${aid}x`, `did:key:${aid}`])
      expect(hubOfChain(name)).toBeUndefined()
  })
})

describe('a statement holds', () => {
  const { kels, cases } = vectors.histories
  test.each(cases)('or not, as recorded, $reason: $holds', ({ kel, holds, statement }) => {
    const log = verifyKel(decodeKel(fromHex(kels[kel] as string)))
    expect(statementHolds(log, WitnessStatement.decode(fromHex(statement)))).toBe(holds)
  })

  const witness = agent('witness')
  const given = (witnessKelSeq: number, seed: Uint8Array, of = witness.aid) =>
    WitnessStatement.sign(seed, {
      v: 1,
      chainDid: chainDid(agent('hub').aid),
      seq: 3,
      headId: new Uint8Array(36),
      observedAt: NOW_MS,
      witness: of,
      witnessKelSeq,
    })

  test('under the key state that it names, also one that is retired since', () => {
    const later = rotate(witness.log, {
      seed: witness.nextSeed,
      nextSeed: new Uint8Array(32).fill(9),
      ts: NOW_MS,
    })
    expect(statementHolds(witness.log, given(0, witness.identitySeed))).toBe(true)
    expect(statementHolds(later, given(0, witness.identitySeed))).toBe(true)
    expect(statementHolds(later, given(1, witness.nextSeed))).toBe(true)
    expect(statementHolds(later, given(1, witness.identitySeed))).toBe(false)
    expect(statementHolds(witness.log, given(1, witness.nextSeed))).toBe(false)
  })

  test('for its own witness alone', () => {
    const other = agent('other')
    expect(statementHolds(other.log, given(0, witness.identitySeed))).toBe(false)
    expect(statementHolds(witness.log, given(0, witness.identitySeed, other.aid))).toBe(false)
    expect(statementHolds(witness.log, given(0, other.identitySeed))).toBe(false)
  })
})
