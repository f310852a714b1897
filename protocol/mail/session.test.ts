import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { xwingPublicKey } from '../crypto/xwing.ts'
import { fromHex, Malformed, toHex } from '../encoding/bytes.ts'
import { agent, anyUint, bytesOf, checkByteFormat, fixture } from '../testing/agents.ts'
import { openSession, SessionGrant, sealSession, sessionMac, verifySessionMac } from './session.ts'

type Grant = { seed: string; hub: string; sid: string; aid: string; enc: string; ciphertext: string }
type Use = { sid: string; tsMs: number; envelopeDigest: string; access: string; mac: string }
const vector = fixture<
  Grant & {
    grant: { macKey: string; quota: number; expMs: number }
    use: Use
    refusedGrants: (Partial<Grant> & { reason: string })[]
    refusedUses: (Partial<Use> & { reason: string })[]
  }
>('session/sessions.json')

function open({ seed, hub, sid, aid, enc, ciphertext }: Grant): SessionGrant {
  return openSession(fromHex(seed), { hub, sid: fromHex(sid), aid }, fromHex(enc), fromHex(ciphertext))
}

function holds({ sid, tsMs, envelopeDigest, access, mac }: Use, macKey = vector.grant.macKey): boolean {
  const use = { sid: fromHex(sid), tsMs, envelopeDigest: fromHex(envelopeDigest), access: fromHex(access) }
  return verifySessionMac(fromHex(macKey), use, fromHex(mac))
}

describe('sessions', () => {
  test('the recorded grant opens for the sender it was sealed to', () => {
    const grant = open(vector)
    expect({ ...grant, macKey: toHex(grant.macKey) }).toEqual(vector.grant)
  })

  test(`${vector.refusedGrants.length} others are refused: for another agent, hub, session or key, or damaged`, () => {
    for (const { reason, ...difference } of vector.refusedGrants) {
      expect(() => open({ ...vector, ...difference }), reason).toThrow(Malformed)
    }
  })

  test(`the recorded MAC holds; ${vector.refusedUses.length} uses it does not cover are refused`, () => {
    expect(holds(vector.use)).toBe(true)
    for (const { reason, ...difference } of vector.refusedUses) {
      expect(holds({ ...vector.use, ...difference }), reason).toBe(false)
    }
    expect(holds({ ...vector.use, mac: vector.use.mac.slice(2) })).toBe(false)
    expect(holds(vector.use, '00'.repeat(32))).toBe(false)
  })

  test('a grant sealed now opens with the same names', () => {
    const { aid, random } = agent('session')
    const seed = random(32)
    const names = { hub: aid, sid: random(16), aid }
    const grant = { macKey: random(32), quota: 3, expMs: 9 }
    const { enc, ciphertext } = sealSession(xwingPublicKey(seed), names, grant)
    expect(openSession(seed, names, enc, ciphertext)).toEqual(grant)
    const use = { sid: names.sid, tsMs: 1, envelopeDigest: random(32), access: random(3) }
    expect(sessionMac(grant.macKey, use).length).toBe(32)
  })

  test('the three properties of a byte format hold for the grant', () => {
    checkByteFormat(SessionGrant, fc.record({ macKey: bytesOf(32), quota: anyUint, expMs: anyUint }))
  })
})
