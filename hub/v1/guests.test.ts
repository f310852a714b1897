/** The guest gateway of wire 1 over HTTP, each rule of it by itself. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fromBase64, fromUtf8, toBase64, utf8 } from '../../protocol/encoding/bytes.ts'
import { parseJson } from '../../protocol/encoding/json.ts'
import { messagePayload } from '../../protocol/mail/message.ts'
import { decodeOpen, holdsOpen } from '../../protocol/mail/open-message.ts'
import { encodePayload, kinds } from '../../protocol/mail/payload.ts'
import { openMail, wordsFrom } from '../testing/guest-handler.ts'
import { startTestHub, type TestHub } from '../testing/hub.ts'
import { expectReply, type OpenAgent, Wire1Client } from '../testing/wire1.ts'

const MINUTE_MS = 60_000
const MIB = 1024 * 1024
const GONE = { ended: true, remaining: 0 }

let hub: TestHub
let client: Wire1Client
beforeEach(async () => {
  hub = await startTestHub({ wires: [1], guests: true })
  client = new Wire1Client(hub)
})
afterEach(() => hub.close())

const started = async (more: Record<string, unknown> = {}) => (await client.post('/guest/start', more)).json
const sent = (session: unknown, body: string, more: Record<string, unknown> = {}) =>
  client.post('/guest/send', { session, body, ...more })
const heard = async (session: unknown) => (await client.post('/guest/poll', { session })).json
const ended = async (session: unknown) => (await client.post('/guest/end', { session })).json

type Got = { id: string; from_aid: string; kind: string; interaction_id: string; payload: string }

/** What waits for a handler, read. */
async function got(agent: OpenAgent) {
  const { json } = await agent.poll()
  return (json['messages'] as Got[]).map(message => {
    const open = decodeOpen(fromBase64(message.payload))
    const { payload, kind } = messagePayload(open.body)
    const document = 'document' in payload ? parseJson(fromUtf8(payload.document)) : undefined
    return { ...message, open, payload, number: kind, document }
  })
}

type Step = { number?: number; to?: string; task: string; kind?: number; payload?: Uint8Array }

/** A handler answers in a task, in words where nothing else is given. */
function answer(agent: OpenAgent, { number = 1, to = hub.aid, task, kind = kinds.message, ...step }: Step) {
  const { payload = wordsFrom('hello') } = step
  return client.post('/relay/send', openMail(agent, { hub: hub.aid, to, task, number, kind, payload }))
}

/** A session whose handler has its first words. */
async function talking() {
  const agent = await client.registered()
  const { session } = await started({ aid: agent.aid })
  await sent(session, 'hi')
  const [first] = await got(agent)
  return { agent, session, task: first?.interaction_id ?? '' }
}

describe('a visitor', () => {
  it('is told that guest mode is off on every route', async () => {
    hub.running.hub.guests.isOpen = false
    for (const route of ['start', 'send', 'poll', 'end']) {
      const { status, json } = await client.post(`/guest/${route}`, { session: 'x' })
      expect([status, json]).toEqual([200, { enabled: false }])
    }
  })

  it('is told why where no agent takes visitors', async () => {
    await client.registered({ guest_messages: 0 })
    expect(await started()).toEqual({ enabled: false, reason: 'no agent here takes visitors' })
  })

  it('talks to an agent that has a quota and is listed, or to the one it chose', async () => {
    const agent = await client.registered({ guest_messages: 3 })
    const other = await client.registered()
    const hidden = await hub.running.hub.openMail.find(other.aid)
    await hub.running.hub.context.store.listOpen({ number: hidden?.box.number ?? 0, listed: false })
    const reply = await client.post('/guest/start', {})
    expectReply('guestStart', reply)
    expect(reply.json).toMatchObject({ enabled: true, handler: 'bob', handler_aid: agent.aid, remaining: 3 })
    expect(await started({ aid: other.aid })).toMatchObject({ handler_aid: other.aid, remaining: 5 })
  })

  it('delegates with its first words, signed by the hub, and sends messages after them', async () => {
    const agent = await client.registered()
    const { session } = await started()
    expect((await sent(session, 'one')).json).toEqual({ remaining: 4 })
    await sent(session, 'two')
    const [first, second] = await got(agent)
    expect(first).toMatchObject({ kind: 'delegate', from_aid: hub.aid, document: { task: 'one' } })
    expect(second).toMatchObject({ kind: 'message', document: { text: 'two' } })
    const { publicKey } = hub.running.hub.context.identity.kel
    expect(first && holdsOpen(publicKey, first.open)).toBe(true)
  })

  it('sends files alone under a placeholder goal, and is refused where there is nothing to send', async () => {
    const agent = await client.registered()
    const { session } = await started()
    const file = { name: 'a.txt', mime: 'text/plain', data: toBase64(utf8('abc')) }
    expect((await sent(session, '')).status).toBe(400)
    expect((await sent(session, '', { attachments: [file] })).status).toBe(200)
    const [first] = await got(agent)
    expect(first?.document).toMatchObject({ task: 'A visitor sends the attached files.' })
    expect(first?.open.attachments.map(fromUtf8)).toEqual(['abc'])
  })

  it('sends 10 attachments in a message and no more', async () => {
    await client.registered()
    const { session } = await started()
    const files = (count: number) =>
      Array.from({ length: count }, () => ({ name: 'a', mime: 'text/plain', data: 'YQ==' }))
    expect((await sent(session, '', { attachments: files(11) })).status).toBe(400)
    expect((await sent(session, '', { attachments: files(10) })).status).toBe(200)
  })

  it('sends 20 MiB of attachments in a message and no more', async () => {
    await client.registered()
    const { session } = await started()
    const half = { name: 'a', mime: 'text/plain', data: toBase64(new Uint8Array(10 * MIB)) }
    expect((await sent(session, '', { attachments: [half, half] })).status).toBe(200)
    const more = { name: 'b', mime: 'text/plain', data: 'YQ==' }
    expect((await sent(session, '', { attachments: [half, half, more] })).status).toBe(400)
  }, 60_000)

  it('sends no more than its quota', async () => {
    await client.registered({ guest_messages: 1 })
    const { session } = await started()
    expect((await sent(session, 'a')).json).toEqual({ remaining: 0 })
    const { status, json } = await sent(session, 'b')
    expect([status, json]).toEqual([200, { limit_reached: true, remaining: 0 }])
  })

  it('reads what its handler answers, each message once', async () => {
    const { agent, session, task } = await talking()
    expect((await answer(agent, { task })).status).toBe(200)
    await answer(agent, { task })
    expect(await heard(session)).toEqual({ messages: [{ body: 'hello', system: false, end: '' }] })
    expect(await heard(session)).toEqual({ messages: [] })
  })

  it('that counts its words loses none to a lost answer, and is told where nothing leaves any more', async () => {
    const { agent, session, task } = await talking()
    await answer(agent, { task })
    const poll = async (has: number) => (await client.post('/guest/poll', { session, has })).json
    const hello = { body: 'hello', system: false, end: '' }
    expect([await poll(0), await poll(0)]).toEqual([{ messages: [hello] }, { messages: [hello] }])
    await answer(agent, { number: 2, task })
    expect([await poll(1), await poll(2)]).toEqual([{ messages: [hello] }, { messages: [] }])
    await ended(session)
    expect(await poll(2)).toEqual({ messages: [], ended: true })
    expect((await client.post('/guest/poll', { session: 'unknown', has: 0 })).json).toEqual({
      ...{ messages: [], ended: true },
    })
  })

  it('that sends a message again under the same name sends it once', async () => {
    const agent = await client.registered()
    const { session } = await started()
    const replies = [
      await sent(session, 'one', { once: 'a' }),
      await sent(session, 'one', { once: 'a' }),
      await sent(session, 'two', { once: 'b' }),
    ]
    expect(replies.map(({ json }) => json)).toEqual([{ remaining: 4 }, { remaining: 4 }, { remaining: 3 }])
    expect((await got(agent)).map(({ open }) => open.body.number)).toEqual([1, 2])
  })

  it('that sends a message several times at once under the same name sends it once', async () => {
    const agent = await client.registered()
    const { session } = await started()
    const attempts = Array.from({ length: 6 }, () => sent(session, 'one', { once: 'a' }))
    const replies = await Promise.all(attempts)
    for (const { status } of replies) expect([200, 500]).toContain(status)
    expect(replies.some(({ status }) => status === 200)).toBe(true)
    expect((await sent(session, 'one', { once: 'a' })).json).toEqual({ remaining: 4 })
    expect((await got(agent)).length).toBe(1)
  })

  it('may send again what its handler had no room for, as the message that it was', async () => {
    const agent = await client.registered()
    const { session } = await started()
    const { limits } = hub.running.hub.context
    const { mailboxBytesMax } = limits
    limits.mailboxBytesMax = 1
    expect((await sent(session, 'one', { once: 'a' })).status).toBe(500)
    limits.mailboxBytesMax = mailboxBytesMax
    expect((await sent(session, 'one', { once: 'a' })).json).toEqual({ remaining: 4 })
    const [first] = await got(agent)
    expect(first).toMatchObject({ kind: 'delegate', open: { body: { number: 1 } } })
  })

  it('accepts the end that its handler asks for', async () => {
    const { agent, session, task } = await talking()
    const payload = encodePayload(kinds.end, { number: 1, peerHighest: 1, missing: [] })
    await answer(agent, { task, kind: kinds.end, payload })
    expect(await heard(session)).toEqual({ messages: [{ body: '', system: true, end: 'requested' }] })
    expect(await ended(session)).toEqual({ ended: true, accepted: true })
    expect((await got(agent)).at(-1)).toMatchObject({ number: kinds.acceptEnd, payload: { endNumber: 1 } })
  })

  it('asks for the end, and reads that its handler accepts it', async () => {
    const { agent, session, task } = await talking()
    expect(await ended(session)).toEqual({ ended: true, accepted: false })
    expect((await got(agent)).at(-1)?.number).toBe(kinds.end)
    expect((await sent(session, 'more')).json).toEqual(GONE)
    const payload = encodePayload(kinds.acceptEnd, { endNumber: 2, number: 1, peerHighest: 2, missing: [] })
    await answer(agent, { task, kind: kinds.acceptEnd, payload })
    expect(await heard(session)).toEqual({ messages: [{ body: '', system: true, end: 'accepted' }] })
  })

  it('is told that its agent left, and ends the conversation all the same', async () => {
    const { agent, session } = await talking()
    await client.post(`/agents/${agent.aid}/deregister`, agent.sign('profile'))
    expect((await sent(session, 'more')).status).toBe(404)
    expect(await ended(session)).toEqual({ ended: true, accepted: false })
    expect((await sent(session, 'more')).json).toEqual(GONE)
  })

  it('keeps the conversation where its handler has no room for the end, and ends it later', async () => {
    const { agent, session } = await talking()
    const { limits } = hub.running.hub.context
    const { mailboxBytesMax } = limits
    limits.mailboxBytesMax = 1
    expect((await client.post('/guest/end', { session })).status).toBe(500)
    limits.mailboxBytesMax = mailboxBytesMax
    expect((await sent(session, 'more')).json).toEqual({ remaining: 3 })
    expect(await ended(session)).toEqual({ ended: true, accepted: false })
    expect((await got(agent)).map(({ open }) => open.body.number)).toEqual([1, 2, 3])
  })

  it('has no session any more after 30 minutes without a word, nor after a restart', async () => {
    await client.registered()
    const { session } = await started()
    hub.clock.advance(29 * MINUTE_MS)
    expect((await sent(session, 'a')).json).toEqual({ remaining: 4 })
    hub.clock.advance(31 * MINUTE_MS)
    expect((await sent(session, 'a')).json).toEqual(GONE)
    const { session: later } = await started()
    await hub.restart()
    expect((await sent(later, 'a')).json).toEqual(GONE)
  })

  it('has left, as its handler reads, once it was away for long or the hub stops', async () => {
    const { agent, session } = await talking()
    hub.clock.advance(31 * MINUTE_MS)
    await hub.running.hub.guests.sweep(100)
    expect((await got(agent)).map(({ number }) => number)).toEqual([kinds.delegate, kinds.end])
    const { agent: other } = await talking()
    await hub.restart()
    const said = await got(other)
    expect(said.map(({ number }) => number)).toEqual([kinds.delegate, kinds.end])
    expect(said.every(({ open }) => holdsOpen(hub.running.hub.context.identity.kel.publicKey, open))).toBe(
      true,
    )
    expect(await heard(session)).toMatchObject({ messages: [] })
  })

  it('is found to be away every five minutes', async () => {
    const first = await talking()
    const sweep = () => hub.running.hub.guests.sweep(100)
    const hears = async ({ agent }: { agent: OpenAgent }) =>
      (await got(agent)).map(({ number }) => number).includes(kinds.end)
    hub.clock.advance(2 * MINUTE_MS)
    const second = await talking()
    hub.clock.advance(29 * MINUTE_MS)
    await sweep()
    expect([await hears(first), await hears(second)]).toEqual([true, false])
    hub.clock.advance(4 * MINUTE_MS)
    await sweep()
    expect(await hears(second)).toBe(false)
    hub.clock.advance(MINUTE_MS)
    await sweep()
    expect(await hears(second)).toBe(true)
  })

  it('is the last of 2,000; those that are idle make room', async () => {
    const agent = await client.registered()
    const { guests } = hub.running.hub
    for (let i = 0; i < 2000; i++) await guests.start(agent.aid)
    expect((await client.post('/guest/start', {})).status).toBe(503)
    hub.clock.advance(31 * MINUTE_MS)
    expect((await client.post('/guest/start', {})).status).toBe(200)
  })
})

describe('mail for the hub itself', () => {
  it('is taken from the handler of a task alone', async () => {
    const { session, task } = await talking()
    const stranger = await client.registered()
    expect((await answer(stranger, { task })).status).toBe(404)
    expect(await heard(session)).toEqual({ messages: [] })
  })

  it('is refused as for an unknown recipient in a task that nobody knows', async () => {
    const { agent } = await talking()
    expect((await answer(agent, { task: 'AAAAAAAAAAAAAAAAAAAAAA' })).status).toBe(404)
    // before anything of it is read
    const junk = {
      to_aid: hub.aid,
      from_aid: agent.aid,
      kind: 'message',
      interaction_id: 'x',
      payload: 'AAAA',
    }
    expect((await client.post('/relay/send', junk)).status).toBe(404)
  })

  it('is refused where its sender did not sign it, or wrote to another', async () => {
    const { agent, task } = await talking()
    expect((await answer(agent, { task, to: agent.aid })).status).toBe(400)
    const mail = openMail(agent, {
      ...{ hub: hub.aid, to: hub.aid, task, number: 1, kind: kinds.message, payload: wordsFrom('x') },
    })
    const bytes = fromBase64(mail.payload)
    const at = bytes.length - 2
    bytes.set([(bytes[at] ?? 0) ^ 1], at)
    const forged = await client.post('/relay/send', { ...mail, payload: toBase64(bytes) })
    expect([forged.status, forged.json['error']]).toEqual([401, expect.stringMatching(/^INVALID_SIGNATURE/)])
    agent.rotate()
    expect((await answer(agent, { task })).status).toBe(401)
  })
})
