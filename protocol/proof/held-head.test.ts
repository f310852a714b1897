import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fromHex, Malformed, toHex } from '../encoding/bytes.ts'
import { decodeKel, verifyKel } from '../identity/kel.ts'
import { agent, anyAid, anyHead, anyUint, bytesOf, checkByteFormat, fixture } from '../testing/agents.ts'
import { HeldHead, headIn, signedHead } from './held-head.ts'
import { CounterSignature } from './receipt.ts'

const { kel, valid, invalid } = fixture<{
  kel: string
  valid: { reason: string; heldHead: string; head: Record<string, unknown> | null }[]
  invalid: { reason: string; heldHead: string }[]
}>('receipt/held-heads.json')
const owner = verifyKel(decodeKel(fromHex(kel)))

describe('held heads', () => {
  test.each(valid)('$reason', ({ heldHead, head }) => {
    const held = HeldHead.decode(fromHex(heldHead))
    expect(toHex(HeldHead.encode(held))).toBe(heldHead)
    const found = signedHead(held, owner)
    const { owner: _, ...named } = headIn(held)
    expect(found && { ...named, id: toHex(found.id) }).toEqual(head ?? undefined)
  })

  test(`${invalid.length} malformed ones are refused`, () => {
    for (const { heldHead, reason } of invalid)
      expect(() => HeldHead.decode(fromHex(heldHead)), reason).toThrow(Malformed)
  })

  test('nothing is written that could not be read', () => {
    expect(() => HeldHead.encode({})).toThrow(Malformed)
    expect(() => headIn({})).toThrow(Malformed)
  })

  test('the three properties of a byte format hold', () => {
    const body = fc.record({
      requester: anyAid,
      kelSeq: anyUint,
      head: anyHead,
      bodyHash: bytesOf(32),
    })
    const { identitySeed } = agent('alice')
    const counterSignature = body.map(({ head: [chainLength, chainHead], ...rest }) =>
      CounterSignature.sign(identitySeed, { ...rest, chainLength, chainHead }),
    )
    checkByteFormat<HeldHead>(HeldHead, fc.record({ counterSignature }), 50)
  })
})
