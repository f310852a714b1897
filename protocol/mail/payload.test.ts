import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fromHex, Malformed, toHex } from '../encoding/bytes.ts'
import { type CborValue, encode } from '../encoding/cbor.ts'
import { MESSAGES_MAX } from '../proof/receipt.ts'
import { bytesOf, checkByteFormat, fixture } from '../testing/agents.ts'
import {
  decodePayload,
  encodePayload,
  isKind,
  type Kind,
  kinds,
  MISSING_MAX,
  type Payload,
  payloads,
} from './payload.ts'

const { valid, invalid } = fixture<{
  valid: { kind: number; name: keyof typeof kinds; bytes: string }[]
  invalid: { kind: number; bytes: string; reason: string }[]
}>('seal/payloads.json')

describe('payloads', () => {
  test(`${valid.length} valid payloads, one of every kind, decode and re-encode`, () => {
    expect([...new Set(valid.map(({ kind }) => kind))]).toEqual(Object.values(kinds))
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

  test('fifteen kinds are known and no others', () => {
    const known = Array.from({ length: 300 }, (_, i) => i - 100).filter(isKind)
    expect(known).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14] satisfies Kind[])
    expect(isKind(0.5)).toBe(false)
  })

  test('what is written must ascend as what is read', () => {
    const missing = [3, 2]
    expect(() => encodePayload(kinds.end, { number: 1, peerHighest: 4, missing })).toThrow(Malformed)
  })

  test('numbers of end and accept-end are bounded, and what lacks lies below the highest held', () => {
    const end = { number: 1, peerHighest: 0, missing: [] as number[] }
    const raw = (...members: [number, CborValue][]) => encode(new Map(members))
    const refused = [
      raw([1, MESSAGES_MAX + 1], [2, 0], [3, []]),
      raw([1, 1], [2, 2 ** 53 - 1], [3, []]),
      raw([1, 1], [2, 3], [3, [3]]),
      raw([1, 1], [2, 0], [3, [1]]),
      raw([1, 1], [2, 5000], [3, Array.from({ length: MISSING_MAX + 1 }, (_, i) => i + 1)]),
    ]
    for (const bytes of refused) expect(() => decodePayload(kinds.end, bytes)).toThrow(Malformed)
    for (const bytes of [
      raw([1, MESSAGES_MAX + 1], [2, 1], [3, 0], [4, []]),
      raw([1, 1], [2, MESSAGES_MAX + 1], [3, 0], [4, []]),
      raw([1, 1], [2, 1], [3, 2], [4, [1, 2]]),
    ])
      expect(() => decodePayload(kinds.acceptEnd, bytes)).toThrow(Malformed)
    const most = { number: MESSAGES_MAX, peerHighest: MESSAGES_MAX, missing: [1, MESSAGES_MAX - 1] }
    expect(decodePayload(kinds.end, encodePayload(kinds.end, most)).payload).toEqual(most)
    expect(decodePayload(kinds.end, encodePayload(kinds.end, end)).payload).toEqual(end)
  })

  test('salt and authorization of a payment come together', () => {
    const task = { document: new Uint8Array(2), requesterCommitment: new Uint8Array(32) }
    expect(() => encodePayload(kinds.delegate, { ...task, paySalt: new Uint8Array(32) })).toThrow(Malformed)
    const alone = encode(
      new Map<number, CborValue>([
        [1, task.document],
        [2, task.requesterCommitment],
        [4, new Uint8Array(9)],
      ]),
    )
    expect(() => decodePayload(kinds.delegate, alone)).toThrow('salt and its authorization')
  })

  test('the three properties of a byte format hold', () => {
    const document = fc.uint8Array({ maxLength: 60 })
    const below = 10_000
    const missing = fc
      .uniqueArray(fc.integer({ min: 1, max: below - 1 }), { maxLength: 9 })
      .map(n => n.sort((a, b) => a - b))
    const number = fc.nat(MESSAGES_MAX)
    const plain = fc.record({ document, requesterCommitment: bytesOf(32) })
    const paid = fc.record({
      document,
      requesterCommitment: bytesOf(32),
      paySalt: bytesOf(32),
      authorization: document,
    })
    checkByteFormat<Payload<0>>(payloads[0], fc.oneof(plain, paid), 100)
    const settlements = fc.array(document, { minLength: 1, maxLength: 4 })
    const answers = fc.record({ document, settlements, refund: document }, { requiredKeys: ['document'] })
    checkByteFormat<Payload<1>>(payloads[1], answers, 100)
    const ends = { number, peerHighest: fc.integer({ min: below, max: MESSAGES_MAX }), missing }
    checkByteFormat(payloads[3], fc.record(ends), 100)
    checkByteFormat(payloads[4], fc.record({ ...ends, endNumber: number }), 100)
    checkByteFormat(payloads[9], fc.record({ reason: fc.string({ maxLength: 200 }) }), 100)
  })
})
