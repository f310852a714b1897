import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fromHex, Malformed, toHex } from './bytes.ts'
import { decodePayload, encodePayload, isKind, type Kind, kinds, payloads } from './payload.ts'
import { bytesOf, checkByteFormat, fixture } from './testing.ts'

const { valid, invalid } = fixture<{
  valid: { kind: number; name: keyof typeof kinds; bytes: string }[]
  invalid: { kind: number; bytes: string; reason: string }[]
}>('seal/payloads.json')

describe('payloads', () => {
  test(`${valid.length} valid payloads, one of every kind, decode and re-encode`, () => {
    expect(valid.map(({ kind }) => kind)).toEqual(Object.values(kinds))
    for (const { kind, name, bytes } of valid) {
      const message = decodePayload(kind, fromHex(bytes))
      expect(message.kind).toBe(kinds[name])
      expect(toHex(encodePayload(message.kind, message.payload as never))).toBe(bytes)
    }
  })

  test(`${invalid.length} invalid payloads are refused`, () => {
    for (const { kind, bytes, reason } of invalid) {
      expect(() => decodePayload(kind, fromHex(bytes)), reason).toThrow(Malformed)
    }
  })

  test('a payload of one kind is not read as one of another shape', () => {
    const end = encodePayload(kinds.end, { number: 1, peerHighest: 0, missing: [] })
    for (const kind of Object.values(kinds)) {
      if (kind !== kinds.end) expect(() => decodePayload(kind, end), `${kind}`).toThrow(Malformed)
    }
  })

  test('eleven kinds are known and no others', () => {
    const known = Array.from({ length: 300 }, (_, i) => i - 100).filter(isKind)
    expect(known).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10] satisfies Kind[])
    expect(isKind(0.5)).toBe(false)
  })

  test('what is written must ascend as what is read', () => {
    const missing = [3, 2]
    expect(() => encodePayload(kinds.end, { number: 1, peerHighest: 4, missing })).toThrow(Malformed)
  })

  test('the three properties of a byte format hold', () => {
    const document = fc.uint8Array({ maxLength: 60 })
    const missing = fc
      .uniqueArray(fc.integer({ min: 1, max: 9999 }), { maxLength: 9 })
      .map(n => n.sort((a, b) => a - b))
    checkByteFormat(payloads[0], fc.record({ document, requesterCommitment: bytesOf(32) }), 100)
    checkByteFormat(payloads[1], fc.record({ document }), 100)
    const ends = { number: fc.nat(), peerHighest: fc.nat(), missing }
    checkByteFormat(payloads[3], fc.record(ends), 100)
    checkByteFormat(payloads[4], fc.record({ ...ends, endNumber: fc.nat() }), 100)
    checkByteFormat(payloads[9], fc.record({ reason: fc.string({ maxLength: 200 }) }), 100)
  })
})
