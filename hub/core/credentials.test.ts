/** Judging a capability: each check refuses alone, and every refusal is the same. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { concat } from '../../protocol/encoding/bytes.ts'
import type { CapabilityAccess } from '../../protocol/mail/access.ts'
import { Capability, proveUse } from '../../protocol/mail/capability.ts'
import { openCore, refusedWith, type TestCore } from '../testing/core.ts'
import { random, TestAgent, type TestCapability } from '../testing/hub.ts'
import { CapabilityChecks } from './credentials.ts'
import { INLINE_BYTES_MAX } from './limits.ts'

const NOW_MS = 1_800_000_000_000
const MAILBOX = 1
const DIGEST = new Uint8Array(32).fill(3)

let core: TestCore
let capabilities: CapabilityChecks
let agent: TestAgent
beforeEach(async () => {
  core = await openCore(NOW_MS)
  capabilities = new CapabilityChecks(core.context)
  const clock = { now: () => core.clock.ms, advance: () => undefined }
  agent = new TestAgent({ url: '', aid: core.context.identity.aid, clock })
  agent.makeKeys()
})
afterEach(() => core.close())

function access({ capability, holderSeed }: TestCapability, digest: Uint8Array = DIGEST): CapabilityAccess {
  return {
    kind: 1,
    capabilityBody: capability.bodyBytes,
    capabilitySignature: capability.signature,
    proof: proveUse(holderSeed, core.context.identity.aid, digest),
  }
}
const recipient = (of = agent) => {
  if (of.keySet === undefined) throw new Error('no key set')
  return { mailbox: MAILBOX, aid: of.aid, keys: of.keySet }
}
const told = (given: CapabilityAccess, size = 1000, of = agent) =>
  refusedWith(() => capabilities.judge(given, recipient(of), { digest: DIGEST, size }))

test('one that holds gives its body, again and again', async () => {
  const given = agent.capability({ bytesMax: 1000 })
  for (let i = 0; i < 2; i++) {
    const body = await capabilities.judge(access(given), recipient(), { digest: DIGEST, size: 1000 })
    expect(body.id).toEqual(given.capability.body.id)
  }
})

describe('is refused', () => {
  test('over its bytes, from its end on, and for another recipient or epoch', async () => {
    const expMs = agent.endOfDay(0)
    const given = agent.capability({ bytesMax: 1000, expMs })
    expect([await told(access(given), 1000), await told(access(given), 1001)]).toEqual([
      undefined,
      'accessInvalid',
    ])
    const other = new TestAgent(agent.target)
    other.makeKeys()
    expect(await told(access(given), 1000, other)).toBe('accessInvalid')
    core.clock.ms = expMs - 1
    expect(await told(access(given))).toBeUndefined()
    core.clock.ms = expMs
    expect(await told(access(given))).toBe('accessInvalid')
    core.clock.ms = NOW_MS
    agent.epoch = random(16)
    agent.makeKeys()
    expect(await told(access(given))).toBe('accessInvalid')
  })

  test('under another mailbox key, also where it held under the one before', async () => {
    const given = agent.capability()
    expect(await told(access(given))).toBeUndefined()
    agent.mailboxSeed = random(32)
    agent.makeKeys()
    expect(await told(access(given))).toBe('accessInvalid')
  })

  test('with another body under a signature that held, with a foreign proof, or as no record', async () => {
    const given = agent.capability()
    const good = access(given)
    expect(await told(good)).toBeUndefined()
    const wider = Capability.sign(random(32), { ...given.capability.body, bytesMax: 10_000_000 })
    for (const wrong of [
      { ...good, capabilityBody: wider.bodyBytes },
      { ...good, proof: access(agent.capability()).proof },
      access(given, random(32)),
      { ...good, capabilityBody: concat(given.capability.bodyBytes, Uint8Array.of(0)) },
      { ...good, capabilityBody: random(40) },
    ])
      expect(await told(wrong)).toBe('accessInvalid')
  })

  test('once it is revoked, before a large body is read; a small one is judged where it is queued', async () => {
    const given = agent.capability()
    const row = { mailbox: MAILBOX, capabilities: [given.capability.body.id] }
    await core.context.store.revoke({ ...row, deleteAtMs: NOW_MS + 1000, nowMs: NOW_MS, max: 10 })
    expect(await told(access(given), INLINE_BYTES_MAX - 1)).toBeUndefined()
    expect(await told(access(given), INLINE_BYTES_MAX)).toBe('accessInvalid')
    expect(await told(access(agent.capability()), INLINE_BYTES_MAX)).toBeUndefined()
  })
})
