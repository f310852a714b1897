import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fromHex, Malformed, toHex } from '../encoding/bytes.ts'
import { bytesOf, checkByteFormat, fixture } from '../testing/agents.ts'
import { ACCESS_BYTES_MAX, type Access, decodeAccess, encodeAccess, staticAccess } from './access.ts'

const { valid, invalid } = fixture<{
  valid: { kind: number; bytes: string; static: string }[]
  invalid: { bytes: string; reason: string }[]
}>('seal/access.json')

describe('access records', () => {
  test(`${valid.length} valid records decode, re-encode and lose only their proof in the static part`, () => {
    for (const { kind, bytes, static: bound } of valid) {
      expect(decodeAccess(fromHex(bytes)).kind).toBe(kind)
      expect(toHex(encodeAccess(decodeAccess(fromHex(bytes))))).toBe(bytes)
      expect(toHex(staticAccess(fromHex(bytes)))).toBe(bound)
    }
  })

  test(`${invalid.length} invalid records are refused`, () => {
    for (const { bytes, reason } of invalid) {
      expect(() => decodeAccess(fromHex(bytes)), reason).toThrow(Malformed)
      expect(() => staticAccess(fromHex(bytes)), reason).toThrow(Malformed)
    }
  })

  test('kind 0 names nobody: it is the same for everyone', () => {
    expect(toHex(encodeAccess({ kind: 0 }))).toBe('a10100')
  })

  test('the three properties of a byte format hold', () => {
    const access: fc.Arbitrary<Access> = fc.oneof(
      fc.constant<Access>({ kind: 0 }),
      fc
        .tuple(fc.uint8Array({ maxLength: 512 }), bytesOf(64), bytesOf(64))
        .map(([capabilityBody, capabilitySignature, proof]): Access => {
          return { kind: 1, capabilityBody, capabilitySignature, proof }
        }),
    )
    checkByteFormat({ encode: encodeAccess, decode: decodeAccess }, access)
  })

  test('the longest record stays within its limit', () => {
    const longest = encodeAccess({
      kind: 1,
      capabilityBody: new Uint8Array(512),
      capabilitySignature: new Uint8Array(64),
      proof: new Uint8Array(64),
    })
    expect(longest.length).toBeLessThanOrEqual(ACCESS_BYTES_MAX)
  })
})
