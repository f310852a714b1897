import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { concat, fromHex, Malformed, toHex } from '../encoding/bytes.ts'
import { anyAid, bytesOf, DAY_MS, fixture, NOW_MS } from '../testing/agents.ts'
import { encodeAccess } from './access.ts'
import {
  contextHash,
  ENVELOPE_HEAD_BYTES_MAX,
  type EnvelopeHead,
  encodeEnvelopeHead,
  envelopeDigest,
  HOUR_MS,
  latestExpMs,
  parseEnvelopeHead,
} from './envelope.ts'

type Head = {
  to: string
  kid: string
  expMs: number
  enc: string
  access: string
  contentDigest: string
  contentLength: number
  bytes: string
  digest: string
  context: string
}
const { valid, invalid } = fixture<{ valid: Head[]; invalid: { bytes: string; reason: string }[] }>(
  'seal/envelope-heads.json',
)
const headOf = (vector: Head): EnvelopeHead => ({
  to: vector.to,
  kid: fromHex(vector.kid),
  expMs: vector.expMs,
  enc: fromHex(vector.enc),
  access: fromHex(vector.access),
  contentDigest: fromHex(vector.contentDigest),
})
const anyHead: fc.Arbitrary<EnvelopeHead> = fc.record({
  to: anyAid,
  kid: bytesOf(8),
  expMs: fc.nat(600_000).map(hours => hours * HOUR_MS),
  enc: bytesOf(1120),
  access: fc.uint8Array({ maxLength: 1024 }),
  contentDigest: bytesOf(32),
})

describe('envelope heads', () => {
  test(`${valid.length} valid heads are written, read, named and bound as their vectors say`, () => {
    for (const vector of valid) {
      const bytes = fromHex(vector.bytes)
      expect(toHex(encodeEnvelopeHead(headOf(vector), vector.contentLength))).toBe(vector.bytes)
      const parsed = parseEnvelopeHead(concat(bytes, new Uint8Array(100)))
      if (parsed === 'more') throw new Error('a whole head was not enough')
      expect(parsed.contentOffset).toBe(bytes.length)
      expect(parsed.contentLength).toBe(vector.contentLength)
      expect(toHex(parsed.head.access)).toBe(vector.access)
      expect(toHex(envelopeDigest(parsed.head))).toBe(vector.digest)
      expect(toHex(contextHash(parsed.head))).toBe(vector.context)
    }
  })

  test(`${invalid.length} faulty heads are refused as soon as the fault is there`, () => {
    for (const { bytes, reason } of invalid) {
      expect(() => parseEnvelopeHead(fromHex(bytes)), reason).toThrow(Malformed)
    }
  })

  test('byte by byte, every part of a head asks for more until it is whole', () => {
    for (const vector of valid) {
      const bytes = fromHex(vector.bytes)
      for (let end = 0; end < bytes.length; end++) {
        expect(parseEnvelopeHead(bytes.subarray(0, end)), `${end} bytes`).toBe('more')
      }
    }
  })

  test('any head comes back, and any bytes parse to what re-encodes, ask for more or are refused', () => {
    const written = fc.tuple(anyHead, fc.nat(90_000_000))
    fc.assert(
      fc.property(written, ([head, length]) => {
        const bytes = encodeEnvelopeHead(head, length)
        const digest = envelopeDigest(head)
        expect(parseEnvelopeHead(bytes)).toEqual({
          head,
          digest,
          contentOffset: bytes.length,
          contentLength: length,
        })
        expect(bytes.length).toBeLessThanOrEqual(ENVELOPE_HEAD_BYTES_MAX)
      }),
    )
    const damaged = fc.tuple(written, fc.nat(), fc.nat(255)).map(([[head, length], at, byte]) => {
      const bytes = encodeEnvelopeHead(head, length)
      bytes[at % bytes.length] = byte
      return bytes
    })
    fc.assert(
      fc.property(fc.oneof(damaged, fc.uint8Array({ maxLength: 50 })), bytes => {
        try {
          const parsed = parseEnvelopeHead(bytes)
          if (parsed === 'more') return
          const again = encodeEnvelopeHead(parsed.head, parsed.contentLength)
          expect(toHex(again)).toBe(toHex(bytes.subarray(0, parsed.contentOffset)))
        } catch (error) {
          if (!(error instanceof Malformed)) throw error
        }
      }),
      { numRuns: 1000 },
    )
  })

  test('a head that does not end within 4 KiB is refused', () => {
    const [vector] = valid
    const head = { ...headOf(vector!), access: new Uint8Array(1024) }
    const bytes = encodeEnvelopeHead(head, 1)
    const grown = concat(bytes.subarray(0, 1190), new Uint8Array(ENVELOPE_HEAD_BYTES_MAX))
    expect(() => parseEnvelopeHead(grown)).toThrow(Malformed)
    expect(ENVELOPE_HEAD_BYTES_MAX).toBe(4096)
  })

  test('the digest names everything but access and content; the context leaves the proof out', () => {
    const vector = valid[1]!
    const head = headOf(vector)
    const proof = fromHex(vector.access).fill(0, -64)
    expect(toHex(envelopeDigest({ ...head, kid: new Uint8Array(8) }))).not.toBe(vector.digest)
    expect(toHex(envelopeDigest({ ...head, contentDigest: new Uint8Array(32) }))).not.toBe(vector.digest)
    expect(toHex(contextHash({ ...head, access: proof }))).toBe(vector.context)
    expect(toHex(contextHash({ ...head, access: encodeAccess({ kind: 0 }) }))).not.toBe(vector.context)
  })

  test('the latest expiry is a whole hour at most 14 days ahead', () => {
    const latest = latestExpMs(NOW_MS)
    expect(latest % HOUR_MS).toBe(0)
    expect(latest).toBeLessThanOrEqual(NOW_MS + 14 * DAY_MS)
    expect(latest).toBeGreaterThan(NOW_MS + 14 * DAY_MS - HOUR_MS)
  })
})
