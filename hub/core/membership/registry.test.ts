/** Registration, key sets, pushed logs and leaving, as the core does them. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { fromBase64url } from '../../../protocol/encoding/bytes.ts'
import { deactivate, encodeKel } from '../../../protocol/identity/kel.ts'
import { KEY_SET_LIFE_MS, KeySet } from '../../../protocol/identity/keyset.ts'
import { agentOf, openCore, refusedWith, type TestCore } from '../../testing/core.ts'
import type { TestAgent } from '../../testing/hub.ts'
import { type Agent, Agents } from '../agents.ts'
import { Issuance } from '../ledger/issuance.ts'
import { CLOCK_WINDOW_MS } from '../limits.ts'
import { Refusal } from '../refusal.ts'
import { Admission } from './admission.ts'
import { KeyLogs } from './key-logs.ts'
import { type Registration, Registry } from './registry.ts'

const NOW_MS = 1_800_000_000_000

import { SupplyChain } from '../supply/chain.ts'

const HOUR_MS = 3_600_000
const HERE = '192.0.2.1'
const signed = async (): Promise<void> => undefined

let core: TestCore
let agents: Agents
let registry: Registry
let ended: string[]
let alice: TestAgent
beforeEach(async () => {
  core = await openCore(NOW_MS, { pushRate: { perSecond: 1, burst: 3 } })
  agents = new Agents(core.context)
  ended = []
  const issuance = new Issuance(core.context, await SupplyChain.open(core.context))
  const endSigner = async ({ row }: Agent): Promise<void> => void ended.push(row.aid)
  registry = new Registry(core.context, agents, {
    keyLogs: new KeyLogs(core.context),
    endSigner,
    issuance,
    admission: new Admission(core.context),
  })
  alice = agentOf(core)
  alice.rotate()
  await core.context.store.admit(alice.aid, true)
})
afterEach(() => core.close())

const kelOf = (of: TestAgent): Uint8Array => encodeKel(of.log.events)
const keysOf = (of: TestAgent, setSeq?: number): Uint8Array =>
  fromBase64url(of.makeKeys(setSeq === undefined ? {} : { setSeq }))
const registration = (of: TestAgent, more: Partial<Registration> = {}): Registration => ({
  aid: of.aid,
  kel: kelOf(of),
  profile: {},
  keys: undefined,
  prevSeq: undefined,
  pow: undefined,
  checkOnly: false,
  ...more,
})
const register = (of: TestAgent, more: Partial<Registration> = {}, verify = signed) =>
  registry.register(registration(of, more), HERE, verify)
const push = (of: TestAgent, address = HERE) => registry.push(of.aid, kelOf(of), address)
const found = async (of: TestAgent) => (await agents.find(of.aid)) as Agent
const held = async (of: TestAgent) => (await agents.find(of.aid))?.row

describe('a registration', () => {
  test('makes an account on probation once; what comes later changes it and ends nothing', async () => {
    const { probationMs } = core.context.limits
    const first = await register(alice, { keys: keysOf(alice), profile: { name: 'Alice', caps: ['a.b'] } })
    expect(first).toEqual({
      keysStatus: 'stored',
      cardStatus: 'none',
      probationUntilMs: NOW_MS + probationMs,
      trial: 'granted',
    })
    core.clock.ms += HOUR_MS
    const again = await register(alice, { profile: { summary: 'busy' } })
    expect(again).toEqual({
      keysStatus: 'none',
      cardStatus: 'none',
      probationUntilMs: undefined,
      trial: undefined,
    })
    expect(await held(alice)).toMatchObject({
      registered: true,
      name: 'Alice',
      caps: ['a.b'],
      summary: 'busy',
      probationUntilMs: NOW_MS + probationMs,
      visibility: 'hub-local',
    })
    expect(ended).toEqual([])
  })

  test('under a newer key ends what the signer held open', async () => {
    await register(alice)
    alice.rotate()
    await register(alice)
    expect(ended).toEqual([alice.aid])
    expect((await agents.find(alice.aid))?.log.seq).toBe(2)
  })

  test('is witnessed by this hub', async () => {
    await register(alice)
    const log = (await agents.find(alice.aid))?.log
    const witnesses = log?.events.map(event => event.witnesses.length)
    expect(witnesses).toEqual([0, 1])
  })

  test('that only asks stores nothing', async () => {
    expect(await register(alice, { checkOnly: true })).toEqual({ checked: 'admitted' })
    expect(await held(alice)).toBeUndefined()
  })

  test('that its signer did not sign stores nothing', async () => {
    const refuses = async () => {
      throw new Refusal('signatureInvalid')
    }
    expect(await refusedWith(() => register(alice, {}, refuses))).toBe('signatureInvalid')
    expect(await held(alice)).toBeUndefined()
  })

  test('of a stranger is refused and noted, one that is blocked is as well', async () => {
    const bob = agentOf(core)
    bob.rotate()
    expect(await refusedWith(() => register(bob))).toBe('admissionRequired')
    await core.context.store.block(alice.aid, true)
    expect(await refusedWith(() => register(alice))).toBe('admissionRequired')
    expect(registry.refused.list().map(({ aid, keptOut }) => [aid, keptOut])).toEqual(
      expect.arrayContaining([
        [bob.aid, 'closed'],
        [alice.aid, 'blocked'],
      ]),
    )
  })

  test('that lacks work is told so, and not noted', async () => {
    await core.context.store.putSetting('admission', 'open')
    const bob = agentOf(core)
    bob.rotate()
    expect(await refusedWith(() => register(bob))).toBe('powRequired')
    expect(registry.refused.list()).toEqual([])
  })

  test('names this hub as home, has not ended, and is dated within the window', async () => {
    const elsewhere = agentOf(core)
    elsewhere.rotate({ home: agentOf(core).aid })
    const future = agentOf(core)
    future.rotate({ ts: NOW_MS + HOUR_MS })
    const over = agentOf(core)
    over.rotate()
    over.log = deactivate(over.log, { seed: over.nextSeed, ts: NOW_MS + 1 })
    for (const [of, code] of [
      [elsewhere, 'witnessElsewhere'],
      [future, 'keyEventTimeOutside'],
      [over, 'identityDeactivated'],
    ] as const) {
      await core.context.store.admit(of.aid, true)
      expect(await refusedWith(() => register(of))).toBe(code)
      expect(await held(of)).toBeUndefined()
    }
  })
})

describe('a key set', () => {
  test('rises from one to the next, and says where it stands when it does not', async () => {
    await register(alice)
    const first = keysOf(alice)
    const publish = (keys: Uint8Array, previous: number) => registry.publishKeys(alice.aid, keys, previous)
    expect(await publish(first, 0)).toBe('stored')
    expect(await publish(first, 1)).toBe('unchanged')
    expect(await publish(keysOf(alice), 1)).toBe('stored')
    const older = publish(first, 2)
    await expect(older).rejects.toMatchObject({ code: 'keySetOlder', facts: { storedSeq: 2 } })
  })

  test('may be dated as far ahead as clocks differ, and is over at its end', async () => {
    await register(alice)
    const at = async (ms: number): Promise<string | undefined> => {
      core.clock.ms = NOW_MS + ms
      const keys = keysOf(alice, ms + 10)
      core.clock.ms = NOW_MS
      return await refusedWith(() => registry.publishKeys(alice.aid, keys, 0))
    }
    expect(await at(CLOCK_WINDOW_MS + 1)).toBe('requestMalformed')
    expect(await at(CLOCK_WINDOW_MS)).toBeUndefined()
    const late = keysOf(alice, CLOCK_WINDOW_MS + 11)
    const publish = () => registry.publishKeys(alice.aid, late, CLOCK_WINDOW_MS + 10)
    core.clock.ms = NOW_MS + KEY_SET_LIFE_MS
    expect(await refusedWith(publish)).toBe('requestMalformed')
    core.clock.ms -= 1
    expect(await refusedWith(publish)).toBeUndefined()
  })

  test('of somebody else, or that is none, is refused', async () => {
    await register(alice)
    const bob = agentOf(core)
    bob.rotate()
    expect(await refusedWith(() => registry.publishKeys(alice.aid, keysOf(bob), 0))).toBe('keyLogInvalid')
    const torn = keysOf(alice).subarray(1)
    expect(await refusedWith(() => registry.publishKeys(alice.aid, torn, 0))).toBe('requestMalformed')
    expect((await agents.find(alice.aid))?.keys).toBeUndefined()
  })

  test('goes with its key state', async () => {
    await register(alice, { keys: keysOf(alice) })
    alice.rotate()
    await push(alice)
    expect((await agents.find(alice.aid))?.keys).toBeUndefined()
    expect(await register(alice, { keys: keysOf(alice) })).toMatchObject({ keysStatus: 'stored' })
    expect(KeySet.encode((await agents.find(alice.aid))?.keys as KeySet)).toEqual(
      KeySet.encode(alice.keySet as KeySet),
    )
  })
})

describe('a pushed log', () => {
  test('is taken for whom the hub knows, and ends what its signer held open', async () => {
    expect(await refusedWith(() => push(alice))).toBe('unknownAgent')
    await register(alice)
    expect(await push(alice)).toMatchObject({ seq: 1, unchanged: true })
    expect(ended).toEqual([])
    alice.rotate()
    expect(await push(alice)).toEqual({ seq: 2, head: alice.log.headDigest, unchanged: false })
    expect(ended).toEqual([alice.aid])
  })

  test('costs its address a share', async () => {
    await register(alice)
    for (let n = 0; n < 3; n++) await push(alice)
    await expect(push(alice)).rejects.toMatchObject({ code: 'rateLimited', facts: { retryAfterMs: 1000 } })
    expect(await push(alice, '198.51.100.1')).toMatchObject({ unchanged: true })
    core.clock.ms += 1000
    expect(await push(alice)).toMatchObject({ unchanged: true })
  })

  test('dated in the future is refused', async () => {
    await register(alice)
    alice.rotate({ ts: NOW_MS + HOUR_MS })
    expect(await refusedWith(() => push(alice))).toBe('keyEventTimeOutside')
  })

  test('is witnessed while this hub is the home, and not after a move', async () => {
    await register(alice)
    alice.rotate()
    await push(alice)
    alice.rotate({ home: agentOf(core).aid })
    await push(alice)
    const log = (await agents.find(alice.aid))?.log
    const witnesses = log?.events.map(event => event.witnesses.length)
    expect(witnesses).toEqual([0, 1, 1, 0])
  })

  test('that ends the identity takes the account, and nothing follows it', async () => {
    await register(alice, { keys: keysOf(alice), profile: { name: 'Alice' } })
    const before = { ...alice, log: alice.log } as TestAgent
    const earlier = kelOf(alice)
    alice.log = deactivate(alice.log, { seed: alice.nextSeed, ts: NOW_MS + 1 })
    expect(await push(alice)).toMatchObject({ seq: 2, unchanged: false })
    expect(await held(alice)).toMatchObject({ registered: false, name: '', keys: undefined })
    expect(await push(alice)).toMatchObject({ seq: 2, unchanged: true })
    expect(await refusedWith(() => registry.push(before.log.aid, earlier, HERE))).toBe('keyLogOlder')
  })
})

describe('an account', () => {
  test('changes what is given of its profile, and its visibility', async () => {
    await register(alice, { profile: { name: 'Alice', readme: 'read me' } })
    await registry.updateProfile(await found(alice), { name: 'Alicia' })
    await registry.setVisibility(await found(alice), 'public')
    expect(await held(alice)).toMatchObject({ name: 'Alicia', readme: 'read me', visibility: 'public' })
  })

  test('is changed and given up by no key that was retired since it was judged', async () => {
    await register(alice, { keys: keysOf(alice) })
    const judged = await found(alice)
    alice.rotate()
    await push(alice)
    for (const attempt of [
      () => registry.updateProfile(judged, { name: 'Mallory' }),
      () => registry.setVisibility(judged, 'public'),
      () => registry.deregister(judged),
    ])
      expect(await refusedWith(attempt)).toBe('keyRetired')
    expect(await held(alice)).toMatchObject({ registered: true, visibility: 'hub-local' })
  })

  test('that is given up leaves the log, ends what was open, and tells how much mail went', async () => {
    await register(alice, { keys: keysOf(alice) })
    const { store } = core.context
    const put = vi.spyOn(store, 'putAgent')
    expect(await registry.deregister(await found(alice))).toBe(0)
    expect(put).toHaveBeenCalledOnce()
    expect(ended).toEqual([alice.aid])
    expect(await held(alice)).toMatchObject({ registered: false, keys: undefined })
    expect((await agents.find(alice.aid))?.log.seq).toBe(1)
    expect(await register(alice)).toMatchObject({ probationUntilMs: expect.any(Number) })
  })
})
