import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { labelledHash } from '../crypto/hash.ts'
import { Malformed, toBase64url, toHex } from '../encoding/bytes.ts'
import { AID_BYTES, aid, aidBytes, aidOfInception, aidText, isAid } from './aid.ts'

const inception = Uint8Array.of(1, 2, 3)
const known = aidOfInception(inception)

describe('an AID', () => {
  test('is version 1 and the labelled digest of the inception body', () => {
    const raw = aidBytes(known)
    expect(raw.length).toBe(AID_BYTES)
    expect(raw[0]).toBe(1)
    expect(toHex(raw.subarray(1))).toBe(toHex(labelledHash('svc-aid/v1', inception)))
  })

  test('is 44 characters of base64url that start with A, and its bytes give the same text', () => {
    fc.assert(
      fc.property(fc.uint8Array(), body => {
        const text = aidOfInception(body)
        expect(text).toMatch(/^A[A-Za-z0-9_-]{43}$/)
        expect(aidText(aidBytes(text))).toBe(text)
        expect(isAid(text)).toBe(true)
      }),
    )
  })

  test.each([
    ['empty', ''],
    ['cut short', known.slice(0, -1)],
    ['a character more', `${known}A`],
    ['padded', `${known}=`],
    ['with a space', `${known.slice(0, -1)} `],
    ['in standard base64', `${known.slice(0, 20)}+/${known.slice(22)}`],
    ['of version 0', `AA${known.slice(2)}`.replace(/^../, 'AA')],
    ['of version 2', toBase64url(Uint8Array.of(2, ...aidBytes(known).subarray(1)))],
    ['of 32 bytes', toBase64url(aidBytes(known).subarray(1))],
    ['of 34 bytes', toBase64url(Uint8Array.of(...aidBytes(known), 0))],
    ['prefixed', `did:svc:${known}`],
  ])('is not a text that is %s', (_, text) => {
    expect(isAid(text)).toBe(false)
    expect(() => aidBytes(text)).toThrow(Malformed)
  })

  test('in CBOR is its 33 raw bytes, never text', () => {
    expect(toHex(aid.write(known) as Uint8Array)).toBe(toHex(aidBytes(known)))
    expect(aid.read(aidBytes(known), 'owner')).toBe(known)
    const wrong = [
      known,
      aidBytes(known).subarray(1),
      Uint8Array.of(3, ...aidBytes(known).subarray(1)),
      null,
      1,
    ]
    for (const value of wrong) expect(() => aid.read(value, 'owner')).toThrow(Malformed)
  })
})
