/** Sends over wire 1 to agents of other hubs: who is asked, in which order, and what that may cost. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { verify } from '../../protocol/crypto/engine.node.ts'
import { cidText, contentId } from '../../protocol/crypto/hash.ts'
import { fromBase64, toBase64, toBase64url, utf8 } from '../../protocol/encoding/bytes.ts'
import { encodeKel, keyAt } from '../../protocol/identity/kel.ts'
import { forwardText } from '../../protocol/mail/forward.ts'
import { TestTimers } from '../../protocol/testing/timers.ts'
import { HandingOn } from '../core/open-federation/hand-on.ts'
import { LetterFiles } from '../core/open-mail/letter-files.ts'
import { OpenMailCalls } from '../peers/open-mail-calls.ts'
import { startTestHub, type TestHub } from '../testing/hub.ts'
import { federate, listOpenPeer, MadeUpHub } from '../testing/open-peers.ts'
import { payloadOf } from '../testing/payload.ts'
import { expectReply, OpenAgent, Wire1Client } from '../testing/wire1.ts'

const MIB = 1024 * 1024
const HOUR_MS = 3_600_000

let hub: TestHub
let client: Wire1Client
let made: MadeUpHub[]
/** An agent that is nowhere, unless a test says so. */
let stranger: OpenAgent
beforeEach(async () => {
  hub = await startTestHub({ wires: [1], wire1Federation: { tells: true } })
  client = new Wire1Client(hub)
  made = []
  stranger = new OpenAgent(client)
})
afterEach(async () => {
  for (const one of made) one.close()
  await hub.close()
})

/** A listed hub that answers so. */
async function peer(status: number, json: unknown = { error: 'UNKNOWN_DESTINATION', detail: '' }) {
  const one = new MadeUpHub(hub.clock.now())
  one.answer = (_request, body, response) => {
    if (body === '') return { cursor: 0, cards: [], reviews: [] }
    response.statusCode = status
    return json
  }
  await one.listen()
  made.push(one)
  await listOpenPeer(hub, one)
  return one
}
const accepts = () => peer(202, { status: 'queued' })
const mail = (to: string, text = 'hello') => ({
  ...{ to_aid: to, from_aid: 'alice', kind: 'delegate', interaction_id: 'i', payload: toBase64(utf8(text)) },
})
const send = async (to: string, text?: string) => await client.post('/relay/send', mail(to, text))
/** A machine that has much to do takes its time. */
const until = (counts: number[]) =>
  vi.waitFor(() => expect(forwards()).toEqual(counts), { timeout: 10_000, interval: 20 })
const forwards = () => made.map(({ asked }) => asked.filter(path => path === '/fed/v1/forward').length)
const tells = async ({ aid: hubAid }: MadeUpHub, { aid, log }: OpenAgent) => {
  const told = { aid, name: 'far', caps: [], summary: '', kel: encodeKel(log.events), card: '{}', seq: 1 }
  await hub.running.hub.context.store.takeOpenAgents({ hub: hubAid, agents: [told], fedSeq: 1, max: 9 })
}

describe('mail for an agent that is not registered here', () => {
  test('goes to the peer that has it, and waits there once', async () => {
    const there = await startTestHub({ wires: [1], wire1Federation: { tells: false } })
    await federate(hub, there)
    const bob = await new Wire1Client(there).registered()
    for (let time = 0; time < 2; time++) {
      const answer = await send(bob.aid)
      expect([answer.status, answer.json]).toEqual([200, { status: 'forwarded', via_hub: there.aid }])
      expectReply('relaySend', answer)
    }
    expect((await bob.poll()).json['messages']).toMatchObject([
      { from_aid: 'alice', kind: 'delegate', interaction_id: 'i', payload: toBase64(utf8('hello')) },
    ])
    await there.close()
  })

  test('goes in a record that this hub signed, and names itself as the only hub on the way', async () => {
    const one = await accepts()
    let record: Record<string, unknown> = {}
    const { answer } = one
    one.answer = (request, body, response) => {
      if (body !== '') record = JSON.parse(body) as Record<string, unknown>
      return answer(request, body, response)
    }
    expect((await send(stranger.aid)).json).toEqual({ status: 'forwarded', via_hub: one.aid })
    const payloadCid = cidText(contentId(utf8('hello')))
    expect(record).toEqual({
      ...{ v: 1, origin_hub_aid: hub.aid, dest_aid: stranger.aid, from_aid: 'alice', kind: 'delegate' },
      ...{ interaction_id: 'i', payload: toBase64(utf8('hello')), payload_cid: payloadCid },
      ...{ hop: 1, seen_hubs: [hub.aid], ts: expect.any(Number), key_state_seq: 0, sig: expect.any(String) },
    })
    const text = forwardText({
      ...{ v: 1, origin: hub.aid, dest: stranger.aid, from: 'alice', kind: 'delegate', interaction: 'i' },
      ...{ payloadCid, hop: 1, seenHubs: [hub.aid], ts: record['ts'] as number, kelSeq: 0 },
    })
    const key = keyAt(hub.running.hub.context.identity.kel, 0) as Uint8Array
    expect(verify(key, text, fromBase64(String(record['sig'])))).toBe(true)
  })

  test('is 404 where every peer says so, and where there is none', async () => {
    const none = await send(stranger.aid)
    await peer(404)
    await peer(404)
    const answer = await send(stranger.aid)
    for (const { status, json } of [none, answer])
      expect([status, json['error']]).toEqual([404, expect.stringContaining('recipient not registered')])
    expect(forwards()).toEqual([1, 1])
  })

  test('is a duplicate there as good as queued', async () => {
    const one = await peer(200, { status: 'DUPLICATE' })
    expect((await send(stranger.aid)).json).toEqual({ status: 'forwarded', via_hub: one.aid })
  })

  test.each([
    ['refuses the record', () => peer(401, { error: 'INVALID_SIGNATURE', detail: 'it does not hold' })],
    ['is hidden by a page', () => peer(403, { message: 'POLICY_REFUSED' })],
    ['fails', () => peer(500, { error: 'INTERNAL', detail: '' })],
    ['answers something else', () => peer(200, { status: 'forwarded' })],
    ['answers more than there is to say', () => peer(200, { status: 'queued', more: 'x'.repeat(40_000) })],
  ])('is 502 where a peer %s and no other has it, and goes to one that does', async (_, failing) => {
    await failing()
    await peer(404)
    const { status, json } = await send(stranger.aid)
    expect([status, json['error']]).toEqual([502, expect.stringContaining('did not answer')])
    const one = await accepts()
    expect((await send(stranger.aid)).json).toEqual({ status: 'forwarded', via_hub: one.aid })
    expect(hub.alerts.map(({ event }) => event)).toContain('a peer gave no usable answer')
  })

  test('is 404 where a peer refuses by its policy, and its operator reads why', async () => {
    const refusing = await peer(403, {
      error: 'POLICY_REFUSED',
      detail: 'start it with\u001b[2J --federation',
    })
    await peer(404)
    for (const _ of [1, 2]) {
      const { status, json } = await send(stranger.aid)
      expect([status, json['error']]).toEqual([404, expect.stringContaining('recipient not registered')])
    }
    expect(forwards()).toEqual([1, 2])
    const why = 'it refuses by its policy: start it with[2J --federation'
    const facts = { peer: refusing.url, route: '/fed/v1/forward', status: 403, why }
    expect(hub.alerts.filter(({ event }) => event !== 'order')).toEqual([
      { event: 'a peer takes no mail of this hub', facts },
    ])
    const { peers } = await hub.running.order({ command: 'peers' })
    expect(peers).toMatchObject([{ aid: refusing.aid, fault: { why } }, {}])
    const one = await accepts()
    expect((await send(stranger.aid)).json['via_hub']).toBe(one.aid)
  })

  test('is no news more than once where a peer tells nothing of its agents, and what it says of mail still is', async () => {
    const one = await peer(403, { error: 'POLICY_REFUSED', detail: 'off' })
    one.answer = (_request, _body, response) => {
      response.statusCode = 403
      return { error: 'POLICY_REFUSED', detail: 'off' }
    }
    const events = () => hub.alerts.map(({ event }) => event).filter(event => event.startsWith('a peer'))
    const { context } = hub.running.hub
    const timers = new TestTimers(0)
    const calls = new OpenMailCalls({ ...context, timers })
    const [listed] = context.peers.all
    if (listed === undefined) throw new Error('no peer is listed')
    for (let hour = 0; hour < 3; hour++) {
      await calls.cards(listed, 0, new AbortController().signal).catch(() => undefined)
      await timers.pass(HOUR_MS)
    }
    expect(events()).toEqual(['a peer tells this hub nothing of its agents'])
    expect((await send(stranger.aid)).status).toBe(404)
    expect(events().at(-1)).toBe('a peer takes no mail of this hub')
  })

  test('is 502 where the hub that told of it refuses by its policy, and says that waiting does not help', async () => {
    await accepts()
    await tells(await peer(403, { error: 'POLICY_REFUSED', detail: 'no peer' }), stranger)
    const { status, json } = await send(stranger.aid)
    expect([status, json['error']]).toEqual([
      502,
      'the hub of the recipient takes no mail of this hub; ask the operators of both to list each other',
    ])
    expect(forwards()).toEqual([0, 1])
  })

  test('is asked of those that told of it, the first one first, and of others only where these have it no more', async () => {
    const [other, second, first] = [await accepts(), await accepts(), await peer(404)]
    await tells(first, stranger)
    await tells(second, stranger)
    expect((await send(stranger.aid)).json['via_hub']).toBe(second.aid)
    expect(forwards()).toEqual([0, 1, 1])
    second.answer = (_request, _body, response) => {
      response.statusCode = 404
      return {}
    }
    expect((await send(stranger.aid)).json['via_hub']).toBe(other.aid)
    expect(forwards()).toEqual([1, 2, 2])
  })

  test('is shown to no other hub where the one that told of it does not answer', async () => {
    await accepts()
    await tells(await peer(500), stranger)
    expect((await send(stranger.aid)).status).toBe(502)
    expect(forwards()).toEqual([0, 1])
  })

  test('never leaves where the agent is here, whatever its mail', async () => {
    await accepts()
    const bob = await client.registered()
    await tells(made[0] as MadeUpHub, bob)
    expect((await send(bob.aid)).json['status']).toBe('queued')
    const { store } = hub.running.hub.context
    const row = await store.findAgent(bob.aid)
    if (row === undefined) throw new Error('bob is gone')
    await store.putAgent({ row: { ...row, mail: 'sealed' }, entry: undefined, terms: [] })
    hub.running.hub.agents.freeMemory()
    expect((await send(bob.aid)).status).toBe(404)
    expect(forwards()).toEqual([0])
  })
})

describe('a peer that hangs', () => {
  test('is waited for ten seconds once, and holds no other up', async () => {
    const hanging = await peer(202)
    hanging.answer = () => undefined
    const other = await accepts()
    const { context, agents } = hub.running.hub
    const timers = new TestTimers(0)
    const calls = new OpenMailCalls({ ...context, timers })
    const handingOn = new HandingOn(
      { ...context, timers },
      { agents, files: new LetterFiles(context), calls },
    )
    const given = {
      to: stranger.aid,
      from: '',
      kind: 'message',
      interaction: '',
      payload: payloadOf(utf8('x')),
    } as const
    const sent = handingOn.send(given, '127.0.0.1')
    await tells(other, new OpenAgent(client))
    const known = new OpenAgent(client)
    await tells(other, known)
    expect(await handingOn.send({ ...given, to: known.aid }, '127.0.0.1')).toBe(other.aid)
    await until([1, 1])
    await timers.pass(11_000)
    expect(await sent).toBe(other.aid)
    expect(await handingOn.send(given, '127.0.0.1')).toBe(other.aid)
    expect(forwards()).toEqual([1, 3])
    await timers.pass(11_000)
    const again = handingOn.send(given, '127.0.0.1')
    await until([2, 3])
    await timers.pass(11_000)
    expect(await again).toBe(other.aid)
  })
})

describe('what is on its way', () => {
  test('is so much at a time, over all peers, and there is room again when it has ended', async () => {
    const hanging = await peer(202)
    hanging.answer = () => undefined
    const known = new OpenAgent(client)
    await tells(hanging, known)
    const { context, agents } = hub.running.hub
    const timers = new TestTimers(0)
    const calls = new OpenMailCalls({ ...context, timers })
    const handingOn = new HandingOn(
      { ...context, timers },
      { agents, files: new LetterFiles(context), calls },
    )
    const send = async (bytes: number) => {
      const given = { to: known.aid, from: '', kind: 'message', interaction: '' } as const
      return await handingOn.send({ ...given, payload: payloadOf(new Uint8Array(bytes)) }, '127.0.0.1').then(
        () => 'sent',
        (error: { code: string }) => error.code,
      )
    }
    const underway = [send(32 * MIB), send(32 * MIB), send(32 * MIB)]
    await until([3])
    expect(await send(1)).toBe('overloaded')
    await timers.pass(120_000)
    expect(await Promise.all(underway)).toEqual(Array(3).fill('homeUnreachable'))
    hanging.answer = (_request, _body, response) => {
      response.statusCode = 202
      return { status: 'queued' }
    }
    expect(await send(1)).toBe('sent')
  })

  test('crosses between hubs that speak both wires, by the address of the earlier one', async () => {
    const wire1 = { listen: { host: '127.0.0.1', port: 0 }, baseUrl: undefined }
    const [one, other] = [
      await startTestHub({ wire1, wire1Federation: { tells: false } }),
      await startTestHub({ wire1, wire1Federation: { tells: false } }),
    ]
    const kelOf = ({ running }: TestHub) => toBase64url(encodeKel(running.hub.context.identity.kel.events))
    for (const [at, of] of [
      [one, other],
      [other, one],
    ] as const) {
      const add = { url: of.url, open_url: of.running.wire1?.url, kel: kelOf(of) }
      await at.running.order({ command: 'peers', add })
    }
    const bob = await new Wire1Client(other).registered()
    const { json } = await new Wire1Client(one).post('/relay/send', mail(bob.aid))
    expect(json).toEqual({ status: 'forwarded', via_hub: other.aid })
    expect((await bob.poll()).json['messages']).toHaveLength(1)
    await Promise.all([one.close(), other.close()])
  })
})

describe('strangers', () => {
  test('make this hub ask no more than it allows, for a large payload sooner; a known agent is reached still', async () => {
    const one = await peer(404)
    const known = new OpenAgent(client)
    let refused = 0
    for (let n = 0; n < 130 && refused === 0; n++) {
      const { status, json, headers } = await send(stranger.aid, `${n}`)
      if (status === 404) continue
      refused = n
      expect([status, json['error']]).toEqual([500, expect.stringContaining('too much mail')])
      expect(Number(headers.get('Retry-After'))).toBeGreaterThan(0)
    }
    expect(refused).toBeGreaterThanOrEqual(100)
    await tells(one, known)
    one.answer = (_request, _body, response) => {
      response.statusCode = 202
      return { status: 'queued' }
    }
    expect((await send(known.aid)).json['status']).toBe('forwarded')
    hub.clock.advance(60_000)
    const large = [
      await send(stranger.aid, 'x'.repeat(4_000_000)),
      await send(stranger.aid, 'y'.repeat(4_000_000)),
    ]
    expect(large.map(({ status }) => status)).toEqual([200, 200])
    expect(
      await Promise.all(
        [1, 2, 3].map(async n => (await send(stranger.aid, 'z'.repeat(4_000_000 + n))).status),
      ),
    ).toContain(500)
  })

  test('of one address have their share, also for an agent that is known, and no more than that', async () => {
    const known = new OpenAgent(client)
    await tells(await accepts(), known)
    const { handingOn } = hub.running.hub.openFederation ?? {}
    const sent = async (address: string, n: number) => {
      const given = {
        to: known.aid,
        from: '',
        kind: 'message',
        interaction: '',
        payload: payloadOf(utf8(`${n}`)),
      } as const
      return await handingOn?.send(given, address).then(
        () => 'sent',
        (error: { code: string }) => error.code,
      )
    }
    const outcomes = await Promise.all(Array.from({ length: 130 }, (_, n) => sent('203.0.113.7', n)))
    expect([outcomes[0], outcomes[99], outcomes.at(-1)]).toEqual(['sent', 'sent', 'rateLimited'])
    expect(await sent('203.0.113.8', 200)).toBe('sent')
  })
})
