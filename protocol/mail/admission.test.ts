/** What lets an envelope in: each check refuses alone, whoever brings the ports. */
import { expect, test } from 'vitest'
import { verify } from '#crypto'
import { agent, DAY_MS, grant, NOW_MS } from '../testing/agents.ts'
import type { CapabilityAccess } from './access.ts'
import { admittedBy, type CapabilityPorts, headFault, isKidAccepted } from './admission.ts'
import { Capability, proveUse } from './capability.ts'
import { EXP_AHEAD_MS, EXP_SKEW_MS } from './envelope.ts'

const [bob, hub] = [agent('bob'), agent('hub')]
const digest = new Uint8Array(32).fill(7)
const { capability, holderSeed } = grant(bob)
const { body } = capability
const given: CapabilityAccess = {
  kind: 1,
  capabilityBody: capability.bodyBytes,
  capabilitySignature: capability.signature,
  proof: proveUse(holderSeed, hub.aid, digest),
}
const recipient = { aid: bob.aid, epoch: body.epoch, home: hub.aid }
const ports: CapabilityPorts = { isRevoked: () => false, isSigned: () => true, verify }

type Case = {
  access?: CapabilityAccess
  to?: typeof recipient
  envelope?: { digest: Uint8Array; size: number }
  nowMs?: number
  by?: Partial<CapabilityPorts>
}
const admitted = ({ access = given, to = recipient, envelope, nowMs = NOW_MS, by = {} }: Case) =>
  admittedBy(access, to, envelope ?? { digest, size: 1000 }, nowMs, { ...ports, ...by })

test('a capability that holds gives its body', async () => {
  expect((await admitted({}))?.id).toEqual(body.id)
  expect((await admitted({ envelope: { digest, size: body.bytesMax } }))?.id).toEqual(body.id)
})

test.each<[string, Case]>([
  ['of no form', { access: { ...given, capabilityBody: new Uint8Array(3) } }],
  ['of another recipient', { to: { ...recipient, aid: hub.aid } }],
  ['over its bytes', { envelope: { digest, size: body.bytesMax + 1 } }],
  ['of a mailbox of before', { to: { ...recipient, epoch: new Uint8Array(16).fill(9) } }],
  ['that is over', { nowMs: body.expMs }],
  ['that lives too long', { nowMs: body.expMs - 40 * DAY_MS }],
  ['that was taken back', { by: { isRevoked: () => true } }],
  ['that the recipient did not sign', { by: { isSigned: async () => false } }],
  ['proven at another hub', { to: { ...recipient, home: bob.aid } }],
  ['proven for another envelope', { envelope: { digest: new Uint8Array(32), size: 1000 } }],
  ['proven by nobody', { access: { ...given, proof: new Uint8Array(64) } }],
])('one %s gives nothing', async (_, tried) => {
  expect(await admitted(tried)).toBeUndefined()
})

test('what costs a signature is asked last', async () => {
  const asked: string[] = []
  const by: CapabilityPorts = {
    isRevoked: () => asked.push('revoked') === 0,
    isSigned: shown => asked.push('signed') > 0 && Capability.encode(shown).length > 0,
    verify: () => asked.push('proof') > 0,
  }
  await admitted({ by, nowMs: body.expMs })
  expect(asked).toEqual([])
  await admitted({ by })
  expect(asked).toEqual(['revoked', 'signed', 'proof'])
})

test('a head has the credential that came with it, and an end that is neither past nor too far', () => {
  const access = new Uint8Array([1, 2])
  const fault = (expMs: number, shown = access) => headFault({ access, expMs }, shown, NOW_MS)
  const latest = NOW_MS + EXP_AHEAD_MS + EXP_SKEW_MS
  expect([fault(NOW_MS + 1), fault(latest)]).toEqual([undefined, undefined])
  expect([fault(NOW_MS), fault(latest + 1)]).toEqual(['expired', 'expiry_too_far'])
  expect(fault(NOW_MS + 1, new Uint8Array([1]))).toBe('other_access')
})

test('keys are those of the present set until it ends, and for a while those of the one before', () => {
  const { keySet: keys } = bob
  const kid = keys.body.keys[0]?.kid as Uint8Array
  const none = { keys: undefined, before: undefined, beforeUntilMs: 0 }
  const at = (nowMs: number, sets: Parameters<typeof isKidAccepted>[0], one = kid) =>
    isKidAccepted(sets, one, nowMs)
  expect([at(keys.body.exp, { ...none, keys }), at(keys.body.exp + 1, { ...none, keys })]).toEqual([
    true,
    false,
  ])
  expect(at(NOW_MS, { ...none, keys }, new Uint8Array(8))).toBe(false)
  const before = { ...none, before: keys, beforeUntilMs: NOW_MS + 1 }
  expect([at(NOW_MS, before), at(NOW_MS + 1, before), at(NOW_MS, none)]).toEqual([true, false, false])
})
