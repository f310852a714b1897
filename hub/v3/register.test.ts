import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fromBase64url, toBase64url, utf8 } from '../../protocol/encoding/bytes.ts'
import { deactivate, decodeKel, encodeKel, verifyKel } from '../../protocol/identity/kel.ts'
import { witnessedAt } from '../../protocol/identity/kel-witness.ts'
import { KeySet, verifyKeySet } from '../../protocol/identity/keyset.ts'
import { powSeedNotAfter } from '../../protocol/identity/pow.ts'
import { wire3Routes } from '../../protocol/wire3/routes.ts'
import { DAY_MS, HOUR_MS } from '../core/limits.ts'
import {
  callRoute,
  type Reply,
  random,
  registeredAgent,
  request,
  startTestHub,
  TestAgent,
  type TestHub,
} from '../testing/hub.ts'
import { sealedForStranger, sealedUnderCapability, sendEnvelope } from '../testing/mail.ts'
import { expectRefusal } from '../testing/refusals.ts'

const MINUTE_MS = 60_000

let hub: TestHub

beforeAll(async () => {
  hub = await startTestHub()
})
afterAll(() => hub.close())

const admit = (agent: TestAgent) => hub.running.hub.context.store.admit(agent.aid, true)
const admitted = async (options?: { bornMs?: number }): Promise<TestAgent> => {
  const agent = new TestAgent(hub, options)
  await admit(agent)
  return agent
}
const submit = (agent: TestAgent, more: Record<string, unknown> = {}) =>
  agent.call('register', { aid: agent.aid, kel: agent.kel, ...more })
const push = (agent: TestAgent) => callRoute(hub, 'pushKel', { aid: agent.aid, kel: agent.kel })
const servedLog = async (agent: TestAgent) => {
  const reply = await callRoute(hub, 'agentKel', undefined, { params: { aid: agent.aid } })
  return verifyKel(decodeKel(fromBase64url(reply.json['kel'] as string)))
}
/** A copy of an agent's key state, for making a second branch from it. */
function branch(agent: TestAgent): TestAgent {
  const copy = new TestAgent(hub)
  return Object.assign(copy, { log: agent.log, seed: agent.seed, nextSeed: agent.nextSeed })
}

describe('registering with closed admission', () => {
  test('asks for admission, naming the AID and the command of the operator', async () => {
    const agent = new TestAgent(hub)
    const reply = await agent.register()
    expectRefusal(reply, 'admission_required', { aid: agent.aid })
    expect(reply.json['error']).toContain(`svc-hub admit ${agent.aid}`)
    await admit(agent)
    expect((await agent.register()).status).toBe(200)
  })

  test('answers a new account with its probation, a known one without', async () => {
    const agent = await admitted()
    const first = await agent.register({ name: 'Painter', caps: ['paint.wall'] })
    expect(first.json).toEqual({
      status: 'registered',
      keys_status: 'stored',
      card_status: 'none',
      probation_until: expect.any(Number),
      trial: 'granted',
    })
    const probation = (first.json['probation_until'] as number) - hub.clock.now()
    expect(Math.abs(probation - 72 * HOUR_MS)).toBeLessThan(MINUTE_MS)
    const again = await submit(agent, { enc_keys: toBase64url(KeySet.encode(agent.keySet as KeySet)) })
    expect(again.json).toEqual({ status: 'registered', keys_status: 'unchanged', card_status: 'none' })
    expect((await submit(agent)).json['keys_status']).toBe('none')
  })

  test('serves the log with its witness entry, and the key set under it', async () => {
    const agent = await registeredAgent(hub)
    const log = await servedLog(agent)
    const identity = hub.running.hub.context.identity
    expect(witnessedAt(log, log.seq, identity.kel)).toBeTypeOf('number')
    const served = await callRoute(hub, 'agentKeys', undefined, { params: { aid: agent.aid } })
    const set = verifyKeySet(log, KeySet.decode(fromBase64url(served.json['keys'] as string)))
    expect(set.body.aid).toBe(agent.aid)
  })

  test('check_only tells who is admitted, for the inception alone, and writes nothing', async () => {
    const agent = new TestAgent(hub)
    expectRefusal(await submit(agent, { check_only: true }), 'admission_required', { aid: agent.aid })
    await admit(agent)
    expect((await submit(agent, { check_only: true })).json).toEqual({ status: 'admitted' })
    expectRefusal(await callRoute(hub, 'agentKel', undefined, { params: { aid: agent.aid } }), 'unknown_aid')
  })

  test('refuses a log that names another hub or none, and a request under another key', async () => {
    const agent = await admitted()
    expectRefusal(await submit(agent), 'witness_not_this_hub')
    agent.rotate({ home: agent.aid })
    expectRefusal(await submit(agent), 'witness_not_this_hub')
    agent.rotate()
    const seed = agent.seed
    agent.seed = random(32)
    expectRefusal(await submit(agent), 'unauthorized')
    agent.seed = seed
    expect((await submit(agent)).status).toBe(200)
  })

  test('refuses a registration that another agent signed', async () => {
    const agent = await admitted()
    agent.rotate()
    const other = await registeredAgent(hub)
    expectRefusal(await other.call('register', { aid: agent.aid, kel: agent.kel }), 'unauthorized')
  })

  test('refuses logs that do not verify, remembering the verdict but nothing else', async () => {
    const agent = await admitted()
    agent.rotate()
    const events = [...agent.log.events]
    const broken = events.map((event, i) =>
      i === 1 ? { ...event, signatures: [[0, random(64)] as [number, Uint8Array]] } : event,
    )
    const kel = toBase64url(encodeKel(broken))
    for (let i = 0; i < 2; i++)
      expectRefusal(await agent.call('register', { aid: agent.aid, kel }), 'kel_invalid')
    expectRefusal(
      await agent.call('register', { aid: agent.aid, kel: toBase64url(random(50)) }),
      'kel_invalid',
    )
    const stranger = new TestAgent(hub)
    expectRefusal(await stranger.call('register', { aid: stranger.aid, kel: agent.kel }), 'kel_invalid')
    expect((await submit(agent)).status).toBe(200)
  })

  test('names of several faults the first: AID, admission, log, signature, window, witness', async () => {
    const agent = new TestAgent(hub)
    const other = new TestAgent(hub)
    const refuses = async (kel: string, code: Parameters<typeof expectRefusal>[1]) =>
      expectRefusal(await agent.call('register', { aid: agent.aid, kel }), code)
    agent.rotate({ home: other.aid, ts: hub.clock.now() + 6 * MINUTE_MS })
    const rightSeed = agent.seed
    agent.seed = random(32)
    const broken = agent.log.events.map((event, i) =>
      i === 1 ? { ...event, signatures: [[0, random(64)] as [number, Uint8Array]] } : event,
    )
    const brokenKel = toBase64url(encodeKel(broken))
    await refuses(other.kel, 'kel_invalid')
    await refuses(brokenKel, 'admission_required')
    await admit(agent)
    await refuses(brokenKel, 'kel_invalid')
    await refuses(agent.kel, 'unauthorized')
    agent.seed = rightSeed
    await refuses(agent.kel, 'kel_ts_out_of_window')
    hub.clock.advance(7 * MINUTE_MS)
    await refuses(agent.kel, 'witness_not_this_hub')
    agent.rotate()
    expect((await submit(agent)).status).toBe(200)
  })

  test('refuses the removed member invite by its own code', async () => {
    const agent = new TestAgent(hub)
    expectRefusal(await submit(agent, { invite: 'x' }), 'invite_removed')
    expectRefusal(await submit(agent, { pricing: 'x' }), 'bad_request')
  })
})

describe('times of key events', () => {
  test('takes an old agent that rotates to this hub now', async () => {
    const agent = await admitted({ bornMs: hub.clock.now() - 365 * DAY_MS })
    agent.rotate({ ts: hub.clock.now() - 200 * DAY_MS, home: agent.aid })
    agent.rotate()
    expect((await submit(agent)).status).toBe(200)
  })

  test('refuses a last event older than ten minutes or ahead by more than five', async () => {
    const old = await admitted({ bornMs: hub.clock.now() - DAY_MS })
    old.rotate({ ts: hub.clock.now() - 11 * MINUTE_MS })
    expectRefusal(await submit(old), 'kel_ts_out_of_window')
    old.rotate()
    expect((await submit(old)).status).toBe(200)
    const ahead = await admitted()
    ahead.rotate({ ts: hub.clock.now() + 6 * MINUTE_MS })
    expectRefusal(await submit(ahead), 'kel_ts_out_of_window')
  })

  test('takes a pushed rotation thirty days old, and a log it holds at any age', async () => {
    const agent = await registeredAgent(hub)
    agent.rotate({ ts: hub.clock.now() + 1000, home: agent.aid })
    hub.clock.advance(30 * DAY_MS)
    expect((await push(agent)).json).toMatchObject({ seq: 2, unchanged: false })
    expect((await push(agent)).json).toMatchObject({ seq: 2, unchanged: true })
    agent.rotate()
    expect((await submit(agent)).status).toBe(200)
    hub.clock.advance(30 * DAY_MS)
    expect((await submit(agent)).status).toBe(200)
  })
})

describe('key histories', () => {
  test('a rotation takes the key set of the older state away, also under a log that is pushed', async () => {
    const agent = await registeredAgent(hub)
    const capability = agent.capability()
    agent.rotate()
    expect((await push(agent)).status).toBe(200)
    const keys = await callRoute(hub, 'agentKeys', undefined, { params: { aid: agent.aid } })
    expectRefusal(keys, 'not_found')
    expectRefusal(await sendEnvelope(hub, sealedUnderCapability(agent, capability)), 'recipient_unknown')
    expect((await submit(agent, { enc_keys: agent.makeKeys(), prev_seq: 0 })).json['keys_status']).toBe(
      'stored',
    )
    expect((await sendEnvelope(hub, sealedUnderCapability(agent, capability))).status).toBe(200)
  })

  test('refuses an older log, and the key that was rotated away', async () => {
    const agent = await registeredAgent(hub)
    const before = branch(agent)
    agent.rotate()
    expect((await submit(agent)).status).toBe(200)
    expectRefusal(await submit(before), 'kel_rollback')
    expectRefusal(await push(before), 'kel_rollback')
    expectRefusal(await before.call('relayPoll', {}), 'key_retired')
    before.seed = random(32)
    expectRefusal(await before.call('relayPoll', {}), 'unauthorized')
  })

  test('refuses a second branch, keeps both signed events as proof, and tells the operator', async () => {
    const agent = await registeredAgent(hub)
    const twin = branch(agent)
    agent.rotate()
    expect((await submit(agent)).status).toBe(200)
    hub.clock.advance(5)
    twin.rotate({ home: agent.aid })
    twin.rotate()
    expectRefusal(await submit(twin), 'kel_fork')
    expectRefusal(await push(twin), 'kel_fork')
    expect(hub.alerts).toContainEqual({ event: 'key log forked', facts: { aid: agent.aid, seq: 2 } })
    expect((await servedLog(agent)).headDigest).toEqual(agent.log.headDigest)
  })

  test('a deactivated identity is gone for good', async () => {
    const agent = await registeredAgent(hub)
    agent.log = deactivate(agent.log, { seed: agent.nextSeed, ts: hub.clock.now() })
    agent.seed = agent.nextSeed
    expect((await push(agent)).json).toMatchObject({ unchanged: false })
    expect((await push(agent)).json).toMatchObject({ unchanged: true })
    expectRefusal(await submit(agent), 'aid_deactivated')
    expectRefusal(await agent.call('relayPoll', {}), 'unauthorized')
    expectRefusal(await callRoute(hub, 'agent', undefined, { params: { aid: agent.aid } }), 'unknown_aid')
    const kel = await callRoute(hub, 'agentKel', undefined, { params: { aid: agent.aid } })
    expect(kel.json['registered']).toBe(false)
  })

  test('a deactivated identity leaves no profile, no key set and no mail that nobody can collect', async () => {
    const agent = await registeredAgent(hub)
    await submit(agent, { name: 'Painter', caps: ['paint.wall'], summary: 'paints', readme: 'long' })
    await sendEnvelope(hub, sealedUnderCapability(agent, agent.capability(), { contentBytes: 100 * 1024 }))
    const { context, agents } = hub.running.hub
    const row = async () => (await agents.find(agent.aid))?.row
    const mailbox = (await row())?.number ?? 0
    const waiting = async () => {
      const asked = { mailbox, afterId: 0, limit: 10, bytesMax: 1, nowMs: hub.clock.now() }
      return (await context.store.poll(asked)).envelopes
    }
    const file = (await waiting())[0]?.file ?? ''
    expect(await context.blobs.open(file).then(opened => opened?.close())).toBeUndefined()
    agent.log = deactivate(agent.log, { seed: agent.nextSeed, ts: hub.clock.now() })
    expect((await push(agent)).status).toBe(200)
    expect(await waiting()).toEqual([])
    expect(await context.blobs.open(file)).toBeUndefined()
    const gone = { name: '', caps: [], summary: '', readme: '', card: undefined, keys: undefined }
    expect(await row()).toMatchObject({ registered: false, ...gone })
    expect(await context.store.findAgent(agent.aid)).toMatchObject(gone)
  })

  test('takes pushed logs of known agents only, twenty at once for one address', async () => {
    const own = await startTestHub()
    const agent = new TestAgent(own)
    const answers = []
    for (let i = 0; i < 40; i++)
      answers.push(await callRoute(own, 'pushKel', { aid: agent.aid, kel: agent.kel }))
    expectRefusal(answers[0] as Reply, 'unknown_aid')
    expect(answers.slice(0, 20).every(reply => reply.status === 404)).toBe(true)
    expectRefusal(answers.find(reply => reply.status === 429) as Reply, 'rate_limited')
    await own.close()
  })
})

describe('key sets', () => {
  const publish = (agent: TestAgent, keys: string, prevSeq: number) =>
    agent.call('publishKeys', { keys, prev_seq: prevSeq }, { params: { aid: agent.aid } })

  test('stores a newer set, calls the same one unchanged, and refuses an older one with the stored number', async () => {
    const agent = await registeredAgent(hub)
    const second = agent.makeKeys()
    expect((await publish(agent, second, 1)).json).toEqual({ keys_status: 'stored' })
    expect((await publish(agent, second, 7)).json).toEqual({ keys_status: 'unchanged' })
    expectRefusal(await publish(agent, agent.makeKeys({ setSeq: 2 }), 2), 'keys_rollback', { stored_seq: 2 })
    expectRefusal(await publish(agent, agent.makeKeys({ setSeq: 9 }), 1), 'keys_rollback', { stored_seq: 2 })
    const { json } = await agent.call('publishKeys', { keys: second }, { params: { aid: agent.aid } })
    expect(json['error']).toContain('prev_seq is missing')
  })

  test('refuses a set of another key state or signer, and one that is none', async () => {
    const agent = await registeredAgent(hub)
    const other = await registeredAgent(hub)
    expectRefusal(await publish(agent, other.makeKeys(), 1), 'kel_invalid')
    const seed = agent.seed
    agent.seed = random(32)
    const forged = agent.makeKeys()
    agent.seed = seed
    expectRefusal(await publish(agent, forged, 1), 'kel_invalid')
    expectRefusal(await publish(agent, toBase64url(random(40)), 1), 'bad_request')
  })

  test('starts again at one under a new key state, in the same request as the rotation', async () => {
    const agent = await registeredAgent(hub)
    await publish(agent, agent.makeKeys(), 1)
    agent.rotate()
    expectRefusal(await submit(agent, { enc_keys: agent.makeKeys(), prev_seq: 2 }), 'keys_rollback', {
      stored_seq: 0,
    })
    expect((await servedLog(agent)).seq).toBe(1)
    expect(
      (await submit(agent, { enc_keys: agent.makeKeys({ setSeq: 1 }), prev_seq: 0 })).json['keys_status'],
    ).toBe('stored')
  })
})

describe('registering with open admission', () => {
  let open: TestHub
  beforeAll(async () => {
    open = await startTestHub({ open: true })
  })
  afterAll(() => open.close())

  test('check_only leaves no account, however far ahead the clock of a stranger is', async () => {
    const stranger = new TestAgent(open)
    const { path, method, action = '' } = wire3Routes.register
    const body = utf8(JSON.stringify({ aid: stranger.aid, kel: stranger.kel, check_only: true }))
    const signed = stranger.sign(action, method, path, body, { ts: Date.now() + 4 * MINUTE_MS })
    const headers = { 'Content-Type': 'application/json', ...signed }
    expect((await request(open.url + path, method, { body, headers })).json).toEqual({ status: 'open' })
    expect((await open.running.hub.context.store.account(stranger.aid)).floorMs).toBe(0)
  })

  test('asks for proof of work with a challenge that names this AID and holds ten minutes', async () => {
    const agent = new TestAgent(open)
    expect((await agent.call('register', { aid: agent.aid, kel: agent.kel, check_only: true })).json).toEqual(
      {
        status: 'open',
      },
    )
    const reply = await agent.register()
    const challenge = reply.json['challenge'] as { seed: string; bits: number; not_after: number }
    expectRefusal(reply, 'pow_required', { challenge })
    expect(challenge.bits).toBe(22)
    const { secret } = open.running.hub.context
    expect(powSeedNotAfter(secret, agent.aid, fromBase64url(challenge.seed))).toBe(challenge.not_after)
    expect(Math.abs(challenge.not_after - open.clock.now() - 10 * MINUTE_MS)).toBeLessThan(MINUTE_MS)
    const lazy = { seed: challenge.seed, nonce: toBase64url(new Uint8Array(8)) }
    expect((await agent.register({ pow: lazy })).json['reason']).toBe('pow_required')
  })

  test('takes an admitted agent without work', async () => {
    await registeredAgent(open)
  })
})

describe('profile, visibility and leaving', () => {
  const shown = async (agent: TestAgent) =>
    (await callRoute(hub, 'agent', undefined, { params: { aid: agent.aid } })).json

  test('a profile changes only what it names', async () => {
    const agent = await admitted()
    await agent.register({ name: 'Painter', caps: ['paint.wall'], summary: 'paints', readme: 'long' })
    await agent.call('updateProfile', { summary: 'paints walls' })
    expect(await shown(agent)).toMatchObject({
      name: 'Painter',
      caps: ['paint.wall'],
      summary: 'paints walls',
      readme: 'long',
      visibility: 'hub-local',
    })
    await agent.call('setVisibility', { visibility: 'public' }, { params: { aid: agent.aid } })
    expect((await shown(agent))['visibility']).toBe('public')
  })

  test('an agent that leaves takes its mail and profile along, its log stays, and it may come back', async () => {
    const agent = await registeredAgent(hub)
    await sendEnvelope(hub, sealedUnderCapability(agent, agent.capability()))
    const left = await agent.call('deregister', {}, { params: { aid: agent.aid } })
    expect(left.json).toEqual({ status: 'deregistered', undelivered: 1 })
    expectRefusal(await agent.call('relayPoll', {}), 'unauthorized')
    expectRefusal(
      await sendEnvelope(hub, sealedUnderCapability(agent, agent.capability())),
      'recipient_unknown',
    )
    const kel = await callRoute(hub, 'agentKel', undefined, { params: { aid: agent.aid } })
    expect(kel.json['registered']).toBe(false)
    expect((await agent.register()).status).toBe(200)
    expect((await agent.poll()).messages).toEqual([])
  })

  test('a session of an agent that leaves is over', async () => {
    const [agent, other] = [await registeredAgent(hub), await registeredAgent(hub)]
    const session = await agent.openSession()
    await agent.call('deregister', {}, { params: { aid: agent.aid } })
    expectRefusal(await sendEnvelope(hub, sealedForStranger(other), session), 'session_invalid')
  })
})
