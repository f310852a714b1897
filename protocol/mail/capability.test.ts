import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { verify } from '#crypto'
import { fromHex, Malformed, toHex } from '../encoding/bytes.ts'
import {
  agent,
  anyAid,
  anyUint,
  bytesOf,
  checkByteFormat,
  DAY_MS,
  fixture,
  grant,
  NOW_MS,
} from '../testing/agents.ts'
import {
  Capability,
  CapabilityBody,
  capabilityMessage,
  isWithinLife,
  latestEnd,
  proofMessage,
  proveUse,
  verifyUse,
} from './capability.ts'

type Use = { body: string; homeHub: string; envelopeDigest: string; proof: string }
const vectors = fixture<{
  valid: (Use & { signature: string; mailboxKey: string; holderSeed: string; recipient: string })[]
  refusedUses: (Use & { reason: string })[]
  refusedSignatures: { body: string; signature: string; reason: string }[]
  invalidBodies: { body: string; reason: string }[]
  lives: { reason: string; expMs: number; nowMs: number; isLive: boolean }[]
}>('capability/capabilities.json')

const parse = (body: string, signature: string): Capability => ({
  body: CapabilityBody.decode(fromHex(body)),
  bodyBytes: fromHex(body),
  signature: fromHex(signature),
})
const proofHolds = ({ body, homeHub, envelopeDigest, proof }: Use) =>
  verifyUse(CapabilityBody.decode(fromHex(body)), homeHub, fromHex(envelopeDigest), fromHex(proof))

describe('capabilities', () => {
  test(`${vectors.valid.length} valid ones verify under the mailbox key, and their uses under the holder key`, () => {
    for (const vector of vectors.valid) {
      const capability = parse(vector.body, vector.signature)
      expect(Capability.verify(fromHex(vector.mailboxKey), capability)).toBe(true)
      expect(capability.body.recipient).toBe(vector.recipient)
      expect(toHex(CapabilityBody.encode(capability.body))).toBe(vector.body)
      expect(proofHolds(vector)).toBe(true)
      const digest = fromHex(vector.envelopeDigest)
      expect(toHex(proveUse(fromHex(vector.holderSeed), vector.homeHub, digest))).toBe(vector.proof)
    }
  })

  test(`${vectors.refusedUses.length} uses are refused: another hub, envelope or holder`, () => {
    for (const vector of vectors.refusedUses) expect(proofHolds(vector), vector.reason).toBe(false)
  })

  test(`${vectors.refusedSignatures.length} capabilities that the mailbox key did not sign are refused`, () => {
    const key = fromHex(vectors.valid[0]!.mailboxKey)
    for (const { body, signature, reason } of vectors.refusedSignatures) {
      expect(Capability.verify(key, parse(body, signature)), reason).toBe(false)
    }
  })

  test(`${vectors.invalidBodies.length} malformed bodies are refused`, () => {
    for (const { body, reason } of vectors.invalidBodies) {
      expect(() => CapabilityBody.decode(fromHex(body)), reason).toThrow(Malformed)
    }
  })

  test('the messages for the thread pool are the signed ones', () => {
    const issuer = agent('issuer')
    const { capability, holderSeed } = grant(issuer)
    const digest = issuer.random(32)
    const proof = proveUse(holderSeed, issuer.aid, digest)
    expect(verify(capability.body.holderKey, proofMessage(issuer.aid, digest), proof)).toBe(true)
    const mailboxKey = issuer.keySet.body.mailboxKey
    expect(verify(mailboxKey, capabilityMessage(capability), capability.signature)).toBe(true)
  })

  test.each(vectors.lives)('$reason: $isLive', ({ expMs, nowMs, isLive }) => {
    const { body } = grant(agent('issuer'), expMs).capability
    expect(isWithinLife(body, nowMs)).toBe(isLive)
  })

  test('the latest end lives from the moment on at which it is chosen', () => {
    for (const now of [NOW_MS, NOW_MS - (NOW_MS % DAY_MS), NOW_MS - (NOW_MS % DAY_MS) - 1]) {
      const { body } = grant(agent('issuer'), latestEnd(now)).capability
      expect(isWithinLife(body, now)).toBe(true)
      expect(latestEnd(now) - now).toBeGreaterThan(30 * DAY_MS)
    }
  })

  test('the three properties of a byte format hold', () => {
    const body: fc.Arbitrary<CapabilityBody> = fc.record({
      v: fc.constant(1 as const),
      id: bytesOf(16),
      recipient: anyAid,
      epoch: bytesOf(16),
      holderKey: bytesOf(32),
      expMs: anyUint,
      usesPerDayMax: anyUint,
      bytesMax: anyUint,
    })
    checkByteFormat(CapabilityBody, body)
  })
})
