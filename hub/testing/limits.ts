/** For tests: limits of mailboxes, senders and confirmations, each tried at its edge (hub API §8). */
import { expect } from 'vitest'
import { fromBase64url, toBase64url } from '../../protocol/encoding/bytes.ts'
import type { Code } from '../../protocol/wire3/codes.ts'
import { DAY_MS, HOUR_MS, type Limits } from '../core/limits.ts'
import { callRoute, type Reply, random, registeredAgent, TestAgent, type TestHub } from './hub.ts'
import { type EnvelopeOptions, sealedForStranger, sealedUnderCapability, sendEnvelope } from './mail.ts'
import { payloadOf } from './payload.ts'
import { reviewUpload } from './reviews.ts'

const MIB = 1024 * 1024
const MINUTE_MS = 60_000
const DACK_BYTES = 540

/** Tries one limit: what is just within it passes, what is just beyond is refused. */
export type Edge = (hub: TestHub) => Promise<void>

/** Sets limits that the hub reads when it uses them. */
export const set = (hub: TestHub, limits: Partial<Limits>): void =>
  void Object.assign(hub.running.hub.context.limits, limits)

/** Every reply passed but the last, which was refused with this code. */
export function expectEdge(replies: Reply[], code: Code): void {
  const reasons = replies.map(reply => reply.json['reason'])
  expect(reasons).toEqual([...replies.slice(1).map(() => undefined), code])
}

/** Lets some time pass and everything that has expired go. */
async function pass(hub: TestHub, ms: number): Promise<void> {
  hub.clock.advance(ms)
  await hub.running.hub.mailboxes.sweep(1000)
}

/** Goes to the start of the next minute or day, so that what is counted in one falls into one. */
const align = (hub: TestHub, windowMs: number): void =>
  hub.clock.advance(windowMs - (hub.clock.now() % windowMs) + 1000)

const quota = (hub: TestHub, aid: string, given: Record<string, number>) =>
  hub.running.order({ command: 'quota', aid, quota: given })

const sealed = (agent: TestAgent, options: EnvelopeOptions = {}) =>
  sealedUnderCapability(agent, agent.capability({ expMs: agent.endOfDay(3) }), options)
const deliver = (hub: TestHub, agent: TestAgent, options: EnvelopeOptions = {}): Promise<Reply> =>
  sendEnvelope(hub, sealed(agent, options))

async function deliverTimes(
  hub: TestHub,
  agent: TestAgent,
  times: number,
  options: EnvelopeOptions = {},
): Promise<Reply[]> {
  const replies = []
  for (let i = 0; i < times; i++) replies.push(await deliver(hub, agent, options))
  return replies
}

async function collect(agent: TestAgent, limit = 100): Promise<void> {
  const { messages } = await agent.poll({ limit })
  await agent.call('relayAck', { items: messages.map(({ id }) => ({ id })) })
}

/** First contacts of one sender, or each of another. */
async function contacts(hub: TestHub, agent: TestAgent, times: number, by?: TestAgent): Promise<Reply[]> {
  const session = await by?.openSession()
  const replies = []
  for (let i = 0; i < times; i++) {
    const used = session ?? (await (await registeredAgent(hub)).openSession())
    replies.push(await sendEnvelope(hub, sealedForStranger(agent), used))
  }
  return replies
}

/** An envelope collected with a confirmation; returns how to ask for its state. */
async function confirmed(hub: TestHub): Promise<(handle?: string) => Promise<unknown>> {
  const agent = await registeredAgent(hub)
  const { rid } = (await deliver(hub, agent)).json
  const own = toBase64url(random(16))
  await agent.call('relayAck', { items: [{ id: 1, handle: own, dack: toBase64url(random(DACK_BYTES)) }] })
  return async (handle = toBase64url(random(16))) => {
    const items = [{ rid, handle: handle === 'own' ? own : handle }]
    const reply = await callRoute(hub, 'relayStatus', { items })
    return (reply.json['items'] as { state: string }[])[0]?.state
  }
}

const revoke = (agent: TestAgent, times: number): Promise<Reply> =>
  agent.call('mailboxRevoke', { cap_ids: Array.from({ length: times }, () => toBase64url(random(16))) })

const limitsOfMailboxes = {
  mailboxEnvelopesMax: async hub => {
    const agent = await registeredAgent(hub)
    set(hub, { mailboxEnvelopesMax: 2 })
    expectEdge(await deliverTimes(hub, agent, 3), 'mailbox_full')
    await quota(hub, agent.aid, { envelopes: 3 })
    expectEdge(await deliverTimes(hub, agent, 2), 'mailbox_full')
    await collect(agent, 1)
    expectEdge(await deliverTimes(hub, agent, 2), 'mailbox_full')
  },
  openMailBytesMax: async hub => {
    const { openMail, openJoining } = hub.running.hub
    const { aid, kel } = new TestAgent(hub)
    await hub.running.order({ command: 'admit', aid })
    const given = {
      aid,
      kel: fromBase64url(kel),
      profile: {},
      pricing: undefined,
      guestQuota: undefined,
      invite: undefined,
      card: undefined,
    }
    await openJoining.register(given, '192.0.2.1', async () => undefined)
    const send = (bytes: number) =>
      openMail.send({
        ...{ to: aid, from: 'x', kind: 'message' as const, interaction: 'i' },
        payload: payloadOf(new Uint8Array(bytes)),
      })
    set(hub, { openMailBytesMax: 1000 })
    await send(600)
    await expect(send(401)).rejects.toMatchObject({ code: 'overloaded' })
    await send(400)
  },
  mailboxBytesMax: async hub => {
    const agent = await registeredAgent(hub)
    // a quota is a MiB at least
    const large = { contentBytes: MIB / 2 }
    const bytes = sealed(agent, large).bytes.length
    set(hub, { mailboxBytesMax: 2 * bytes })
    expectEdge(await deliverTimes(hub, agent, 3, large), 'mailbox_full')
    await quota(hub, agent.aid, { bytes: 3 * bytes - 1 })
    expectEdge(await deliverTimes(hub, agent, 1, large), 'mailbox_full')
    await quota(hub, agent.aid, { bytes: 3 * bytes })
    expectEdge(await deliverTimes(hub, agent, 2, large), 'mailbox_full')
  },
  envelopeBytesMax: async hub => {
    const agent = await registeredAgent(hub)
    const envelopes = [sealed(agent), sealed(agent, { contentBytes: 4097 })] as const
    set(hub, { envelopeBytesMax: envelopes[0].bytes.length })
    expectEdge([await sendEnvelope(hub, envelopes[0]), await sendEnvelope(hub, envelopes[1])], 'too_large')
  },
  envelopeLifeMs: async hub => {
    const agent = await registeredAgent(hub)
    set(hub, { envelopeLifeMs: HOUR_MS })
    await deliver(hub, agent)
    await pass(hub, HOUR_MS - MINUTE_MS)
    expect((await agent.poll()).messages.length).toBe(1)
    await pass(hub, MINUTE_MS)
    expect((await agent.poll()).messages.length).toBe(0)
  },
  queuedPerDayMax: async hub => {
    const agent = await registeredAgent(hub)
    set(hub, { queuedPerDayMax: 2 })
    const envelope = sealed(agent)
    const again = async (): Promise<Reply> => {
      const reply = await sendEnvelope(hub, envelope)
      await collect(agent)
      return reply
    }
    expectEdge([await again(), await again(), await again()], 'redelivery_limited')
    await pass(hub, DAY_MS)
    expect((await again()).json['status']).toBe('queued')
  },
  deliveryLifeMs: async hub => {
    set(hub, { deliveryLifeMs: DAY_MS })
    const state = await confirmed(hub)
    await pass(hub, DAY_MS - MINUTE_MS)
    expect(await state()).toBe('done')
    await pass(hub, MINUTE_MS)
    expect(await state()).toBe('unknown')
  },
  deliveryLifeFetchedMs: async hub => {
    set(hub, { deliveryLifeFetchedMs: HOUR_MS })
    const state = await confirmed(hub)
    expect(await state('own')).toBe('done')
    await pass(hub, HOUR_MS - MINUTE_MS)
    expect(await state()).toBe('done')
    await pass(hub, MINUTE_MS)
    expect(await state()).toBe('unknown')
  },
  revocationsMax: async hub => {
    const agent = await registeredAgent(hub)
    set(hub, { revocationsMax: 3 })
    expectEdge([await revoke(agent, 3), await revoke(agent, 1)], 'revocation_list_full')
    const other = await registeredAgent(hub)
    expectEdge([await revoke(other, 2), await revoke(other, 2)], 'revocation_list_full')
  },
  revocationLifeMs: async hub => {
    const agent = await registeredAgent(hub)
    set(hub, { revocationLifeMs: HOUR_MS, revocationsMax: 1 })
    await revoke(agent, 1)
    await pass(hub, HOUR_MS - MINUTE_MS)
    expectEdge([await revoke(agent, 1)], 'revocation_list_full')
    await pass(hub, MINUTE_MS)
    expect((await revoke(agent, 1)).json).toEqual({ revoked: 1, total: 1 })
  },
} satisfies Partial<Record<keyof Limits, Edge>>

const limitsOfSenders = {
  strangerPerMinute: async hub => {
    const agent = await registeredAgent(hub)
    align(hub, MINUTE_MS)
    set(hub, { strangerPerMinute: 2 })
    expectEdge(await contacts(hub, agent, 3), 'strangers_busy')
    await quota(hub, agent.aid, { stranger_per_minute: 3 })
    expectEdge(await contacts(hub, agent, 2), 'strangers_busy')
    expect((await deliver(hub, agent)).json['status']).toBe('queued')
    hub.clock.advance(MINUTE_MS)
    expectEdge(await contacts(hub, agent, 4), 'strangers_busy')
  },
  strangerEnvelopesMax: async hub => {
    const agent = await registeredAgent(hub)
    align(hub, MINUTE_MS)
    set(hub, { strangerEnvelopesMax: 2 })
    expectEdge(await contacts(hub, agent, 3), 'strangers_busy')
    expect((await deliver(hub, agent)).json['status']).toBe('queued')
    await quota(hub, agent.aid, { stranger_envelopes: 3 })
    expectEdge(await contacts(hub, agent, 2), 'strangers_busy')
    await collect(agent)
    expect((await contacts(hub, agent, 1))[0]?.status).toBe(200)
  },
  strangerBytesMax: async hub => {
    const agent = await registeredAgent(hub)
    const bytes = sealedForStranger(agent).bytes.length
    align(hub, MINUTE_MS)
    set(hub, { strangerBytesMax: 2 * bytes })
    expectEdge(await contacts(hub, agent, 3), 'strangers_busy')
    await quota(hub, agent.aid, { stranger_bytes: 3 * bytes })
    expectEdge(await contacts(hub, agent, 2), 'strangers_busy')
  },
  senderPerMinuteMax: async hub => {
    const [agent, one, two] = [
      await registeredAgent(hub),
      await registeredAgent(hub),
      await registeredAgent(hub),
    ]
    align(hub, MINUTE_MS)
    set(hub, { senderPerMinuteMax: 2 })
    expectEdge(await contacts(hub, agent, 3, one), 'strangers_busy')
    expectEdge(await contacts(hub, agent, 3, two), 'strangers_busy')
    expect((await contacts(hub, two, 1, one))[0]?.status).toBe(200)
    hub.clock.advance(MINUTE_MS)
    expectEdge(await contacts(hub, agent, 3, one), 'strangers_busy')
  },
  senderWaitingMax: async hub => {
    const [agent, one, two] = [
      await registeredAgent(hub),
      await registeredAgent(hub),
      await registeredAgent(hub),
    ]
    align(hub, MINUTE_MS)
    set(hub, { senderWaitingMax: 2 })
    expectEdge(await contacts(hub, agent, 3, one), 'strangers_busy')
    hub.clock.advance(MINUTE_MS)
    expectEdge(await contacts(hub, agent, 1, one), 'strangers_busy')
    expect((await contacts(hub, agent, 1, two))[0]?.status).toBe(200)
    await collect(agent, 1)
    expectEdge(await contacts(hub, agent, 2, one), 'strangers_busy')
  },
  sessionQuota: async hub => {
    const sender = await registeredAgent(hub)
    align(hub, DAY_MS)
    set(hub, { sessionQuota: 2 })
    const to = async (): Promise<Reply> =>
      (await contacts(hub, await registeredAgent(hub), 1, sender))[0] as Reply
    expectEdge([await to(), await to(), await to()], 'rate_limited')
    hub.clock.advance(DAY_MS)
    expect((await to()).status).toBe(200)
  },
  sessionsPerAgentMax: async hub => {
    const [agent, sender] = [await registeredAgent(hub), await registeredAgent(hub)]
    set(hub, { sessionsPerAgentMax: 2 })
    const sessions = [await sender.openSession(), await sender.openSession(), await sender.openSession()]
    const reasons = []
    for (const session of sessions.reverse())
      reasons.push((await sendEnvelope(hub, sealedForStranger(agent), session)).json['reason'])
    expect(reasons).toEqual([undefined, undefined, 'session_invalid'])
  },
  sessionLifeMs: async hub => {
    const [agent, sender] = [await registeredAgent(hub), await registeredAgent(hub)]
    set(hub, { sessionLifeMs: HOUR_MS })
    const session = await sender.openSession()
    hub.clock.advance(HOUR_MS - MINUTE_MS)
    const inTime = await sendEnvelope(hub, sealedForStranger(agent), session)
    hub.clock.advance(MINUTE_MS)
    expectEdge([inTime, await sendEnvelope(hub, sealedForStranger(agent), session)], 'session_invalid')
  },
  probationMs: async hub => {
    set(hub, { probationMs: HOUR_MS })
    const [agent, provider] = [await registeredAgent(hub), await registeredAgent(hub)]
    const review = () => agent.call('uploadReview', reviewUpload(agent, provider))
    hub.clock.advance(HOUR_MS - MINUTE_MS)
    expectEdge([await review()], 'probation')
    hub.clock.advance(MINUTE_MS)
    expect((await review()).status).toBe(200)
  },
  reviewWindowMs: async hub => {
    set(hub, { probationMs: 0, reviewWindowMs: DAY_MS })
    const [agent, provider] = [await registeredAgent(hub), await registeredAgent(hub)]
    const review = (age: number) => {
      const end = hub.clock.now() - age
      return agent.call('uploadReview', reviewUpload(agent, provider, { body: { start: end - 1, end } }))
    }
    expectEdge([await review(DAY_MS - MINUTE_MS), await review(DAY_MS + 1)], 'review_window_closed')
  },
} satisfies Partial<Record<keyof Limits, Edge>>

/** Limits that the hub reads when it uses them; tried under each one's own values. */
export const mailEdges = { ...limitsOfMailboxes, ...limitsOfSenders }
