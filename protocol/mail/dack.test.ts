import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DACK_BYTES } from '../contract/limits.ts'
import { fromHex, Malformed, toHex } from '../encoding/bytes.ts'
import { agent, anyAid, anyUint, bytesOf, checkByteFormat, fixture } from '../testing/agents.ts'
import { Dack, DackBody, dackHandle, openDack, sealDack } from './dack.ts'

type Valid = {
  handleSecret: string
  nonce: string
  handle: string
  publicKey: string
  body: { [member: string]: string | number }
  sealed: string
}
const { valid, invalid } = fixture<{
  valid: Valid[]
  invalid: { handleSecret: string; sealed: string; reason: string }[]
}>('dack/dacks.json')
const recipient = agent('recipient')
const anyBody: fc.Arbitrary<DackBody> = fc.record({
  envelopeDigest: bytesOf(32),
  messageId: bytesOf(16),
  messageDigest: bytesOf(32),
  recipient: anyAid,
  kelSeq: anyUint,
  tsMs: anyUint,
  code: fc.constantFrom(0, 1, 2, 3, 4, 5),
})

describe('delivery confirmations', () => {
  test(`${valid.length} valid ones, one per code, open to their body and verify`, () => {
    expect(valid.map(vector => vector.body['code'])).toEqual([0, 1, 2, 3, 4, 5])
    for (const vector of valid) {
      const secret = fromHex(vector.handleSecret)
      expect(toHex(dackHandle(secret))).toBe(vector.handle)
      const dack = openDack(secret, fromHex(vector.sealed))
      for (const [member, value] of Object.entries(dack.body)) {
        expect(value instanceof Uint8Array ? toHex(value) : value, member).toBe(vector.body[member])
      }
      expect(Dack.verify(fromHex(vector.publicKey), dack)).toBe(true)
      expect(toHex(sealDack(secret, fromHex(vector.nonce), dack))).toBe(vector.sealed)
    }
  })

  test(`${invalid.length} faulty ones are refused`, () => {
    for (const { handleSecret, sealed, reason } of invalid) {
      expect(() => openDack(fromHex(handleSecret), fromHex(sealed)), reason).toThrow(Malformed)
    }
  })

  test('each is exactly 540 bytes and opens under its own handle secret only', () => {
    fc.assert(
      fc.property(anyBody, bytesOf(32), bytesOf(12), (body, secret, nonce) => {
        const sealed = sealDack(secret, nonce, Dack.sign(recipient.identitySeed, body))
        expect(sealed.length).toBe(DACK_BYTES)
        expect(openDack(secret, sealed).body).toEqual(body)
        const other = secret.slice()
        other[0] = other[0]! ^ 1
        expect(() => openDack(other, sealed)).toThrow(Malformed)
      }),
      { numRuns: 20 },
    )
  })

  test('one signed by somebody else is refused', () => {
    const dack = openDack(fromHex(valid[0]!.handleSecret), fromHex(valid[0]!.sealed))
    expect(Dack.verify(recipient.log.publicKey, dack)).toBe(false)
  })

  test('the three properties of a byte format hold', () => {
    checkByteFormat(DackBody, anyBody)
  })

  test('any 540 bytes open or are refused with Malformed', () => {
    fc.assert(
      fc.property(bytesOf(DACK_BYTES), bytes => {
        expect(() => openDack(new Uint8Array(32), bytes)).toThrow(Malformed)
      }),
      { numRuns: 20 },
    )
  })
})
