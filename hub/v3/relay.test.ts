import { readdirSync } from 'node:fs'
import { request as rawHttp } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fromBase64url, toBase64url } from '../../protocol/encoding/bytes.ts'
import { encodeAccess } from '../../protocol/mail/access.ts'
import { EXP_SKEW_MS } from '../../protocol/mail/envelope.ts'
import { headers } from '../../protocol/wire3/headers.ts'
import { DAY_MS, HOUR_MS } from '../core/limits.ts'
import {
  callRoute,
  type Polled,
  random,
  registeredAgent,
  request,
  startTestHub,
  TestAgent,
  type TestHub,
} from '../testing/hub.ts'
import {
  giveBytes,
  makeEnvelope,
  sealedForStranger,
  sealedUnderCapability,
  sendEnvelope,
  sendHeaders,
} from '../testing/mail.ts'
import { expectRefusal } from '../testing/refusals.ts'

const KIB = 1024
const MIB = 1024 * KIB
const SEND = '/relay/send'

let hub: TestHub
let alice: TestAgent
let bob: TestAgent

beforeAll(async () => {
  hub = await startTestHub()
  alice = await registeredAgent(hub)
  bob = await registeredAgent(hub)
})
afterAll(() => hub.close())

const send = (envelope: ReturnType<typeof sealedForStranger>) => sendEnvelope(hub, envelope)
const quota = (aid: string, given: Record<string, number>) =>
  hub.running.order({ command: 'quota', aid, quota: given })
const statusOf = async (rid: unknown, handle: Uint8Array = new Uint8Array(16)) => {
  const reply = await callRoute(hub, 'relayStatus', { items: [{ rid, handle: toBase64url(handle) }] })
  return (reply.json['items'] as { state: string; dack?: string }[])[0]
}
const blobFiles = (): string[] =>
  ['tmp', 'blobs'].flatMap(folder =>
    readdirSync(join(hub.directory, folder), { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => entry.name),
  )

describe('sending', () => {
  test.each([0, 1, 4 * KIB, 63 * KIB, 64 * KIB, 3 * MIB])(
    'delivers an envelope of %i content bytes exactly as it was sent',
    async contentBytes => {
      const agent = await registeredAgent(hub)
      const envelope = sealedUnderCapability(agent, agent.capability(), { contentBytes })
      const reply = await send(envelope)
      expect(reply.json).toEqual({ status: 'queued', rid: expect.any(String), recipient_quiet: true })
      const { messages, more } = await agent.poll()
      expect([messages.length, more]).toEqual([1, false])
      expect(fromBase64url(messages[0]?.envelope ?? '')).toEqual(envelope.bytes)
    },
  )

  test('answers a repeat that still waits as duplicate with the first rid, also without its content', async () => {
    const agent = await registeredAgent(hub)
    const envelope = sealedUnderCapability(agent, agent.capability({ usesPerDay: 1 }), { contentBytes: MIB })
    const first = await send(envelope)
    const again = await send(envelope)
    expect(again.json).toEqual({ ...first.json, status: 'duplicate' })
    const headOnly = { ...sendHeaders(envelope), 'Content-Length': String(envelope.bytes.length) }
    expect(await sendPart(headOnly, envelope.bytes.subarray(0, 4 * KIB))).toMatchObject({
      status: 'duplicate',
    })
  })

  test('takes a first contact under a session, and the MAC binds envelope and credential', async () => {
    const session = await bob.openSession()
    const envelope = sealedForStranger(alice)
    expect((await sendEnvelope(hub, envelope, session)).json['status']).toBe('queued')
    const other = sealedForStranger(alice)
    const swapped = { ...sendHeaders(envelope, { session, tsMs: hub.clock.now() }) }
    expectRefusal(
      await request(hub.url + SEND, 'POST', { headers: swapped, body: other.bytes }),
      'session_invalid',
    )
  })

  test('refuses a session that is missing, unknown, expired, or used outside its time', async () => {
    const envelope = sealedForStranger(alice)
    expectRefusal(await sendEnvelope(hub, envelope), 'session_invalid')
    const session = await bob.openSession()
    expectRefusal(await sendEnvelope(hub, envelope, { ...session, sid: random(16) }), 'session_invalid')
    expectRefusal(await sendEnvelope(hub, envelope, { ...session, macKey: random(32) }), 'session_invalid')
    const late = sendHeaders(envelope, { session, tsMs: hub.clock.now() - 6 * 60_000 })
    expectRefusal(
      await request(hub.url + SEND, 'POST', { headers: late, body: envelope.bytes }),
      'session_invalid',
    )
    hub.clock.advance(HOUR_MS)
    expectRefusal(await sendEnvelope(hub, sealedForStranger(alice), session), 'session_invalid')
  })

  test('ends the oldest of five sessions of one agent', async () => {
    const agent = await registeredAgent(hub)
    const sessions = []
    for (let i = 0; i < 5; i++) sessions.push(await agent.openSession())
    const answers = []
    for (const session of [sessions[0], sessions[1], sessions[4]])
      answers.push((await sendEnvelope(hub, sealedForStranger(alice), session)).json['reason'])
    expect(answers).toEqual(['session_invalid', undefined, undefined])
  })

  test('refuses a capability of another key, epoch, recipient or hub, an expired or too long one, one that ends within a day, and a stolen proof', async () => {
    const agent = await registeredAgent(hub)
    const good = agent.capability()
    const foreign = { ...bob.capability() }
    const forged = { ...good, capability: { ...good.capability, signature: random(64) } }
    const expired = agent.capability({ expMs: agent.endOfDay(-1) })
    const finer = agent.capability({ expMs: agent.endOfDay(3) + 1 })
    const tooLong = agent.capability({ expMs: agent.endOfDay(40) })
    for (const wrong of [foreign, forged, expired, finer, tooLong])
      expectRefusal(await send(sealedUnderCapability(agent, wrong)), 'access_invalid')
    const elsewhere = sealedUnderCapability(agent, good, { homeHub: bob.aid })
    expectRefusal(await send(elsewhere), 'access_invalid')
    const stolen = sealedUnderCapability(agent, good)
    expectRefusal(await send(makeEnvelope(agent, () => stolen.accessBytes)), 'access_invalid')
    const small = agent.capability({ bytesMax: 2 * KIB })
    expectRefusal(await send(sealedUnderCapability(agent, small)), 'access_invalid')
    agent.epoch = random(16)
    expectRefusal(await send(sealedUnderCapability(agent, agent.capability())), 'access_invalid')
    expectRefusal(
      await request(hub.url + SEND, 'POST', { headers: envelopeType, body: stolen.bytes }),
      'access_invalid',
    )
  })

  test('refuses a capability once it is used up for the day, and takes it again on the next', async () => {
    const agent = await registeredAgent(hub)
    const capability = agent.capability({ usesPerDay: 2, expMs: agent.endOfDay(3) })
    for (let i = 0; i < 2; i++)
      expect((await send(sealedUnderCapability(agent, capability))).status).toBe(200)
    expectRefusal(await send(sealedUnderCapability(agent, capability)), 'access_invalid')
    hub.clock.advance(DAY_MS)
    expect((await send(sealedUnderCapability(agent, capability))).status).toBe(200)
  })

  test.each([4 * KIB, MIB])('refuses a revoked capability, with %i content bytes', async contentBytes => {
    const agent = await registeredAgent(hub)
    const capability = agent.capability()
    expect((await send(sealedUnderCapability(agent, capability, { contentBytes }))).status).toBe(200)
    const ids = [toBase64url(capability.capability.body.id)]
    expect((await agent.call('mailboxRevoke', { cap_ids: ids })).json).toEqual({ revoked: 1, total: 1 })
    expect((await agent.call('mailboxRevoke', { cap_ids: ids })).json).toEqual({ revoked: 0, total: 1 })
    expectRefusal(await send(sealedUnderCapability(agent, capability, { contentBytes })), 'access_invalid')
  })

  test('refuses expired envelopes and such that expire too late', async () => {
    const hour = Math.floor(hub.clock.now() / HOUR_MS) * HOUR_MS
    const capability = alice.capability()
    expectRefusal(await send(sealedUnderCapability(alice, capability, { expMs: hour })), 'expired')
    const last = Math.floor((hub.clock.now() + 14 * DAY_MS + EXP_SKEW_MS) / HOUR_MS) * HOUR_MS
    expect((await send(sealedUnderCapability(alice, capability, { expMs: last }))).status).toBe(200)
    const late = { expMs: last + HOUR_MS }
    expectRefusal(await send(sealedUnderCapability(alice, capability, late)), 'bad_exp')
  })

  test('refuses an unknown recipient and a recipient at another hub', async () => {
    const nobody = new TestAgent(hub)
    expectRefusal(await send(sealedUnderCapability(nobody, nobody.capability())), 'recipient_unknown')
    const envelope = sealedUnderCapability(alice, alice.capability())
    const elsewhere = { [headers.home]: bob.aid }
    expectRefusal(await sendEnvelope(hub, envelope, undefined, elsewhere), 'recipient_unknown')
    expect((await sendEnvelope(hub, envelope, undefined, { [headers.home]: hub.aid })).status).toBe(200)
  })

  test('takes the keys of the set before for a day, then calls them stale', async () => {
    const agent = await registeredAgent(hub)
    const old = agent.kid
    const capability = agent.capability({ expMs: agent.endOfDay(3) })
    await agent.call(
      'publishKeys',
      { keys: agent.makeKeys({ fresh: true }), prev_seq: 1 },
      { params: { aid: agent.aid } },
    )
    expect((await send(sealedUnderCapability(agent, capability, { kid: old }))).status).toBe(200)
    hub.clock.advance(DAY_MS - HOUR_MS)
    expect((await send(sealedUnderCapability(agent, capability, { kid: old }))).status).toBe(200)
    hub.clock.advance(2 * HOUR_MS)
    expectRefusal(await send(sealedUnderCapability(agent, capability, { kid: old })), 'kid_stale')
    expectRefusal(await send(sealedUnderCapability(agent, capability, { kid: random(8) })), 'kid_stale')
  })

  test('refuses a body that is no envelope, does not match its header, or is altered', async () => {
    const envelope = sealedUnderCapability(alice, alice.capability(), { contentBytes: 100 * KIB })
    const altered = new Uint8Array(envelope.bytes)
    altered[altered.length - 1] = (altered.at(-1) as number) ^ 1
    const bodies = [
      altered,
      envelope.bytes.subarray(0, -1),
      new Uint8Array([...envelope.bytes, 0]),
      envelope.bytes.subarray(0, 100),
      random(5 * KIB),
      new Uint8Array(0),
    ]
    for (const bytes of bodies) expectRefusal(await send({ ...envelope, bytes }), 'bad_envelope')
    const otherHeader = encodeAccess({ kind: 0 })
    const mismatch = { ...envelope, accessBytes: otherHeader }
    const session = await bob.openSession()
    expectRefusal(await sendEnvelope(hub, mismatch, session), 'bad_envelope')
  })

  test('refuses a body of another content type, and one over 96 MiB before it is read', async () => {
    const envelope = sealedUnderCapability(alice, alice.capability())
    const wrongType = { ...sendHeaders(envelope), 'Content-Type': 'application/json' }
    expectRefusal(
      await request(hub.url + SEND, 'POST', { headers: wrongType, body: envelope.bytes }),
      'bad_request',
    )
    const huge = { ...sendHeaders(envelope), 'Content-Length': String(96 * MIB + 1) }
    expect(await sendPart(huge, envelope.bytes)).toMatchObject({ reason: 'too_large' })
  })

  test('leaves no file of a refused or broken body', async () => {
    const before = blobFiles().length
    const envelope = sealedUnderCapability(alice, alice.capability(), { contentBytes: MIB })
    const altered = new Uint8Array(envelope.bytes)
    altered[MIB] = (altered[MIB] as number) ^ 1
    expectRefusal(await send({ ...envelope, bytes: altered }), 'bad_envelope')
    const part = { ...sendHeaders(envelope), 'Content-Length': String(envelope.bytes.length) }
    await expect(sendPart(part, envelope.bytes.subarray(0, 200 * KIB), { cut: true })).rejects.toThrow()
    await waitUntil(() => blobFiles().length === before)
  })
})

describe('limits of a mailbox', () => {
  test('refuses what does not fit, and takes mail again when some was collected', async () => {
    const agent = await registeredAgent(hub)
    await quota(agent.aid, { envelopes: 2 })
    const capability = agent.capability()
    for (let i = 0; i < 2; i++)
      expect((await send(sealedUnderCapability(agent, capability))).status).toBe(200)
    expectRefusal(await send(sealedUnderCapability(agent, capability)), 'mailbox_full')
    const { messages } = await agent.poll()
    await agent.call('relayAck', { items: [{ id: messages[0]?.id }] })
    expect((await send(sealedUnderCapability(agent, capability))).status).toBe(200)
    await giveBytes(hub, agent.aid, 10 * KIB)
    expectRefusal(await send(sealedUnderCapability(agent, capability)), 'mailbox_full')
  })

  test('keeps to what the recipient takes from strangers: size, and how many a day', async () => {
    const agent = await registeredAgent(hub, made => {
      made.strangers = { bytes: 384 * KIB, perDay: 1 }
    })
    const session = await bob.openSession()
    const large = sealedForStranger(agent, { contentBytes: 384 * KIB })
    expectRefusal(await sendEnvelope(hub, large, session), 'too_large_for_stranger')
    expect((await sendEnvelope(hub, sealedForStranger(agent), session)).status).toBe(200)
    expectRefusal(await sendEnvelope(hub, sealedForStranger(agent), session), 'strangers_busy')
    const closed = await registeredAgent(hub, made => {
      made.strangers = { bytes: 384 * KIB, perDay: 0 }
    })
    expectRefusal(await sendEnvelope(hub, sealedForStranger(closed), session), 'strangers_busy')
  })
})

describe('polling', () => {
  test('returns mail in id order after an id, at most the limit, and says whether there is more', async () => {
    const agent = await registeredAgent(hub)
    const capability = agent.capability()
    for (let i = 0; i < 5; i++) await send(sealedUnderCapability(agent, capability))
    const ids = (polled: Polled) => [polled.messages.map(message => message.id), polled.more]
    expect(ids(await agent.poll({ limit: 2 }))).toEqual([[1, 2], true])
    expect(ids(await agent.poll({ limit: 2, after_id: 2 }))).toEqual([[3, 4], true])
    expect(ids(await agent.poll({ after_id: 4 }))).toEqual([[5], false])
    expect(ids(await agent.poll({ after_id: 5 }))).toEqual([[], false])
  })

  test('does not return what has expired', async () => {
    const agent = await registeredAgent(hub)
    const expMs = Math.ceil((hub.clock.now() + 1) / HOUR_MS) * HOUR_MS
    await send(sealedUnderCapability(agent, agent.capability(), { expMs }))
    hub.clock.advance(2 * HOUR_MS)
    expect((await agent.poll()).messages).toEqual([])
  })

  test('holds a poll that prefers to wait until mail is there', async () => {
    const agent = await registeredAgent(hub)
    const polling = agent.call('relayPoll', {}, { headers: { Prefer: 'wait=20' } })
    await waitUntil(() => isHeld(agent))
    const sent = await send(sealedUnderCapability(agent, agent.capability()))
    const reply = await polling
    expect(reply.headers.get('Preference-Applied')).toBe('wait=20')
    expect((reply.json as unknown as Polled).messages.map(message => message.id)).toEqual([1])
    expect(sent.json['recipient_quiet']).toBe(false)
  })

  test('tells with a held answer the time at which it was given', async () => {
    const agent = await registeredAgent(hub)
    const polling = agent.call('relayPoll', {}, { headers: { Prefer: 'wait=20' } })
    await waitUntil(() => isHeld(agent))
    hub.clock.advance(HOUR_MS)
    await send(sealedUnderCapability(agent, agent.capability()))
    const { headers } = await polling
    expect(Math.abs(Date.parse(headers.get('Date') ?? '') - hub.clock.now())).toBeLessThan(2000)
  })

  test('answers at once without the preference, and when the wait is over', async () => {
    const agent = await registeredAgent(hub)
    const plain = await agent.call('relayPoll', {})
    expect([plain.headers.get('Preference-Applied'), plain.json['messages']]).toEqual([null, []])
    const waited = await agent.call('relayPoll', {}, { headers: { Prefer: 'respond-async, wait=1' } })
    expect([waited.headers.get('Preference-Applied'), waited.json['messages']]).toEqual(['wait=1', []])
  })

  test('ends the older of two held polls with an empty answer', async () => {
    const agent = await registeredAgent(hub)
    const hold = () => agent.call('relayPoll', {}, { headers: { Prefer: 'wait=20' } })
    const older = hold()
    await waitUntil(() => isHeld(agent))
    const newer = hold()
    const ended = await older
    expect([ended.json['messages'], ended.headers.get('X-Svc-Other-Poll')]).toEqual([[], 'newer'])
    const third = hold()
    expect((await newer).headers.get('X-Svc-Other-Poll')).toBe('older, newer')
    await send(sealedUnderCapability(agent, agent.capability()))
    const last = await third
    expect([(last.json['messages'] as unknown[]).length, last.headers.get('X-Svc-Other-Poll')]).toEqual([
      1,
      'older',
    ])
    const alone = await agent.call('relayPoll', { after_id: 1 }, { headers: { Prefer: 'wait=1' } })
    expect(alone.headers.get('X-Svc-Other-Poll')).toBeNull()
  })

  test('ends a held poll when its signer rotates or leaves', async () => {
    for (const end of ['rotate', 'leave'] as const) {
      const agent = await registeredAgent(hub)
      const held = agent.call('relayPoll', {}, { headers: { Prefer: 'wait=20' } })
      await waitUntil(() => isHeld(agent))
      if (end === 'leave') await agent.call('deregister', {}, { params: { aid: agent.aid } })
      else {
        agent.rotate()
        await agent.register()
      }
      expect((await held).json['messages']).toEqual([])
    }
  })
})

describe('confirming', () => {
  const dack = random(540)
  const handle = random(16)

  test('keeps the confirmation for the sender, shows it to the handle alone, and forgets it', async () => {
    const agent = await registeredAgent(hub)
    const sent = await send(sealedUnderCapability(agent, agent.capability()))
    const { rid } = sent.json
    expect(await statusOf(rid)).toEqual({ state: 'queued' })
    const items = [{ id: 1, handle: toBase64url(handle), dack: toBase64url(dack) }]
    expect((await agent.call('relayAck', { items })).json).toEqual({ acked: 1, stored: 1 })
    expect((await agent.call('relayAck', { items })).json).toEqual({ acked: 0, stored: 0 })
    expect(await statusOf(rid, random(16))).toEqual({ state: 'done' })
    expect(await statusOf(rid, handle)).toEqual({ state: 'done', dack: toBase64url(dack) })
    hub.clock.advance(DAY_MS + HOUR_MS)
    await hub.running.hub.mailboxes.sweep(1000)
    expect(await statusOf(rid, handle)).toEqual({ state: 'unknown' })
  })

  test.each([
    ['no id', { handle: toBase64url(handle), dack: toBase64url(dack) }],
    ['a handle alone', { id: 1, handle: toBase64url(handle) }],
    ['a dack alone', { id: 1, dack: toBase64url(dack) }],
    ['a short dack', { id: 1, handle: toBase64url(handle), dack: toBase64url(dack.subarray(1)) }],
    ['a long handle', { id: 1, handle: toBase64url(random(17)), dack: toBase64url(dack) }],
    ['a dack that is no base64url', { id: 1, handle: toBase64url(handle), dack: '!' }],
  ])('refuses an item with %s', async (_, item) => {
    expectRefusal(await alice.call('relayAck', { items: [item] }), 'bad_ack_item')
  })

  test('takes 1 to 1000 items', async () => {
    const items = (count: number) => Array.from({ length: count }, (_, i) => ({ id: 1_000_000 + i }))
    expectRefusal(await alice.call('relayAck', { items: items(0) }), 'bad_ack_item')
    expectRefusal(await alice.call('relayAck', { items: items(1001) }), 'bad_ack_item')
    expect((await alice.call('relayAck', { items: items(1000) })).json).toEqual({ acked: 0, stored: 0 })
  })
})

describe('asking for states', () => {
  const item = () => ({ rid: toBase64url(random(16)), handle: toBase64url(random(16)) })

  test('takes 1 to 64 items of one hub with rid and handle of 16 bytes', async () => {
    const own = await startTestHub()
    const ask = (items: unknown[]) => callRoute(own, 'relayStatus', { items })
    for (const items of [
      [],
      Array.from({ length: 65 }, item),
      [{ ...item(), rid: toBase64url(random(15)) }],
      [{ ...item(), handle: toBase64url(random(17)) }],
      [{ handle: item().handle }],
      [{ rid: item().rid }],
      [{ ...item(), via_hub: bob.aid }],
    ])
      expectRefusal(await ask(items), 'bad_status_query')
    expect((await ask(Array.from({ length: 64 }, item))).status).toBe(200)
    await own.close()
  })
})

describe('revoking', () => {
  test('takes 1 to 1000 ids of 16 bytes and has a rate of its own', async () => {
    const agent = await registeredAgent(hub)
    const ids = (count: number) => Array.from({ length: count }, () => toBase64url(random(16)))
    expectRefusal(await agent.call('mailboxRevoke', { cap_ids: [] }), 'bad_request')
    expectRefusal(await agent.call('mailboxRevoke', { cap_ids: ids(1001) }), 'bad_request')
    expect((await agent.call('mailboxRevoke', { cap_ids: ids(1000) })).json).toEqual({
      revoked: 1000,
      total: 1000,
    })
    let reply = await agent.call('mailboxRevoke', { cap_ids: ids(1) })
    for (let i = 0; i < 30 && reply.status === 200; i++)
      reply = await agent.call('mailboxRevoke', { cap_ids: ids(1) })
    expectRefusal(reply, 'rate_limited')
  })
})

const envelopeType = { 'Content-Type': 'application/vnd.svc.envelope+cbor' }

const sessions = new Map<
  TestAgent,
  { opened: number; session: Awaited<ReturnType<TestAgent['openSession']>> }
>()
/** A live session, opened again before the old one ends. */
async function _sessionOf(agent: TestAgent) {
  const held = sessions.get(agent)
  if (held !== undefined && held.session.expMs > hub.clock.now() + 120_000) return held.session
  const session = await agent.openSession()
  sessions.set(agent, { opened: hub.clock.now(), session })
  return session
}

const isHeld = async (agent: TestAgent): Promise<boolean> => {
  const found = await hub.running.hub.agents.find(agent.aid)
  return found !== undefined && hub.running.hub.polls.holds(found.row.number)
}

/** Sends the beginning of a body and keeps the connection open, or cuts it. */
function sendPart(
  given: Record<string, string>,
  part: Uint8Array,
  options: { cut?: boolean } = {},
): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    const sending = rawHttp(hub.url + SEND, { method: 'POST', headers: { [headers.wire]: '3', ...given } })
    sending.on('error', reject)
    sending.on('response', async response => {
      const chunks: Buffer[] = []
      for await (const chunk of response) chunks.push(chunk as Buffer)
      sending.destroy()
      resolve(JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>)
    })
    sending.write(part, () => {
      if (options.cut === true) setTimeout(() => sending.destroy(new Error('cut')), 50)
    })
  })
}

async function waitUntil(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let i = 0; i < 500 && !(await holds()); i++) await new Promise(resolve => setTimeout(resolve, 10))
  expect(await holds()).toBe(true)
}
