/** What guests cost a hub, and that they take the room of nobody else. */
import { request } from 'node:http'
import { afterEach, describe, expect, it } from 'vitest'
import { fromBase64, toBase64 } from '../../protocol/encoding/bytes.ts'
import { decodeOpen } from '../../protocol/mail/open-message.ts'
import { kinds } from '../../protocol/mail/payload.ts'
import { openMail, wordsFrom } from '../testing/guest-handler.ts'
import { startTestHub, type TestHub, type TestHubOptions } from '../testing/hub.ts'
import { type OpenAgent, Wire1Client } from '../testing/wire1.ts'

const KIB = 1024
const MIB = 1024 * KIB
const DAY_MS = 86_400_000
const MINUTE_MS = 60_000

let hub: TestHub
let client: Wire1Client
afterEach(() => hub.close())

async function opened(limits: TestHubOptions['limits'] = {}): Promise<void> {
  hub = await startTestHub({ wires: [1], guests: true, limits })
  client = new Wire1Client(hub)
}

const from = (address: string) => ({ 'X-Forwarded-For': address })
const start = (address: string, body: object = {}) => client.ask('POST', '/guest/start', body, from(address))
const send = (session: unknown, body: string, more: object = {}, headers = {}) =>
  client.ask('POST', '/guest/send', { session, body, ...more }, headers)

type Mail = { interaction_id: string; payload: string }
const mailOf = async (agent: OpenAgent) => (await agent.poll()).json['messages'] as Mail[]

/** The first bytes of a message that goes on for as long as the test wants. */
function slowMessage(address: string, bytes: number): { end(): void; answered: Promise<number> } {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const headers = { 'Content-Type': 'application/json', 'Content-Length': 27 * MIB, ...from(address) }
  const sending = request(`${hub.url}/guest/send`, { method: 'POST', headers }, answer =>
    resolve(answer.statusCode ?? 0),
  )
  sending.on('error', reject)
  sending.write(Buffer.alloc(bytes, ' '))
  promise.catch(() => undefined)
  return { end: () => sending.destroy(), answered: promise }
}

const held = async (bytes: number) =>
  await expect.poll(() => hub.running.shares.bytesInFlight).toBeGreaterThanOrEqual(bytes)

describe('a guest', () => {
  it('is given a handler by reading a few, however many there are, and each of them now and then', async () => {
    await opened()
    const { store } = hub.running.hub.context
    let asked = 0
    for (const name of ['openMailbox', 'findAgent', 'listAgents', 'guestTakers'] as const) {
      const real = store[name].bind(store) as (...given: unknown[]) => unknown
      Object.assign(store, {
        [name](...given: unknown[]) {
          asked += 1
          return real(...given)
        },
      })
    }
    const agents: string[] = []
    for (let n = 0; n < 40; n++) agents.push((await client.registered({ name: `agent ${n}` })).aid)
    asked = 0
    const { json } = await start('198.51.100.1')
    expect(agents).toContain(json['handler_aid'])
    expect(asked).toBeLessThan(5)
    const drawn = new Set<unknown>()
    for (let n = 0; n < 60; n++) drawn.add((await start('198.51.100.1')).json['handler_aid'])
    expect(drawn.size).toBeGreaterThan(15)
    expect((await hub.running.hub.guests.handlers()).length).toBe(32)
  }, 60_000)

  it('is given nobody who has left, whose mail is sealed, or whom nobody saw for 30 days', async () => {
    await opened()
    const [left, sealed, gone, goneToo, stays] = [
      ...[await client.registered(), await client.registered(), await client.registered()],
      ...[await client.registered(), await client.registered()],
    ]
    await client.post(`/agents/${left?.aid}/deregister`, left?.sign('profile'))
    await hub.running.hub.agents.update(sealed?.aid ?? '', agent => {
      if (agent === undefined) throw new Error('gone')
      return { ...agent, row: { ...agent.row, mail: 'sealed' } }
    })
    await gone?.poll()
    await goneToo?.poll()
    hub.clock.advance(30 * DAY_MS + MINUTE_MS)
    await stays?.poll()
    const draw = async () => (await start('198.51.100.1')).json['handler_aid']
    for (let n = 0; n < 8; n++) expect(await draw()).toBe(stays?.aid)
    while (await hub.running.hub.guests.sweep(1));
    const { store } = hub.running.hub.context
    const query = { place: 0, limit: 10, polledAfterMs: 0 }
    expect((await store.guestTakers(query)).map(({ aid }) => aid)).toEqual([stays?.aid])
    await gone?.poll()
    expect((await store.guestTakers(query)).length).toBe(2)
  })

  it('of one address has 100 sessions at once, those of others stay free', async () => {
    await opened()
    const agent = await client.registered()
    const { guests } = hub.running.hub
    for (let n = 0; n < 100; n++) await guests.start(agent.aid, '198.51.100.1')
    const { status, json } = await start('198.51.100.1')
    expect([status, json]).toEqual([503, { error: expect.stringContaining('as many visitors are here') }])
    expect((await start('198.51.100.2')).status).toBe(200)
  })

  it('fills half of a mailbox, and of all open mail; the rest is for agents', async () => {
    await opened({ mailboxEnvelopesMax: 4 })
    const agent = await client.registered()
    const { session } = (await start('198.51.100.1')).json
    const statuses: number[] = []
    for (let n = 0; n < 3; n++) statuses.push((await send(session, `${n}`)).status)
    expect(statuses).toEqual([200, 200, 500])
    const mail = { to_aid: agent.aid, from_aid: 'x', kind: 'message', interaction_id: 'i', payload: '' }
    expect((await client.post('/relay/send', mail)).status).toBe(200)
    // what ends a task is no words of a guest
    expect((await client.post('/guest/end', { session })).status).toBe(200)
    expect(await mailOf(agent)).toHaveLength(4)
  })

  it('can tell 20 MiB of files to an agent from any address, also while another one sends as much', async () => {
    await opened()
    const agent = await client.registered()
    const { session } = (await start('198.51.100.2')).json
    const other = slowMessage('198.51.100.1', 20 * MIB)
    await held(20 * MIB)
    const half = { name: 'half', mime: 'text/plain', data: toBase64(new Uint8Array(10 * MIB).fill(7)) }
    const reply = await send(session, '', { attachments: [half, half] }, from('198.51.100.2'))
    expect([reply.status, reply.json]).toEqual([200, { remaining: 4 }])
    const [message] = await mailOf(agent)
    const { attachments } = decodeOpen(fromBase64(message?.payload ?? ''))
    expect(attachments.map(content => [content.length, content.at(-1)])).toEqual([
      ...[
        [10 * MIB, 7],
        [10 * MIB, 7],
      ],
    ])
    other.end()
  }, 120_000)

  it('holds the room of one message of the largest size from one address', async () => {
    await opened({ requestRate: { perSecond: 1000, burst: 10_000 } })
    await client.registered()
    const { session } = (await start('198.51.100.1')).json
    const slow = slowMessage('198.51.100.1', 20 * MIB)
    await held(20 * MIB)
    const second = slowMessage('198.51.100.1', 9 * MIB)
    expect(await second.answered).toBe(500)
    slow.end()
    second.end()
    await expect.poll(() => hub.running.shares.bytesInFlight).toBe(0)
    const large = { attachments: [{ name: 'a', mime: '', data: toBase64(new Uint8Array(8 * MIB)) }] }
    expect((await send(session, 'me too', large, from('198.51.100.1'))).status).toBe(200)
  }, 120_000)

  it('is told to wait who sends much from one address again and again, and nobody else is', async () => {
    await opened({ requestRate: { perSecond: 1 / 60, burst: 40 } })
    await client.registered()
    const { session } = (await start('198.51.100.1')).json
    const half = { attachments: [{ name: 'a', mime: '', data: toBase64(new Uint8Array(1.5 * MIB)) }] }
    expect((await send(session, 'one', half, from('198.51.100.1'))).status).toBe(200)
    const { status, json } = await send(session, 'two', half, from('198.51.100.1'))
    expect([status, json]).toEqual([500, { error: expect.stringContaining('sends too much at once') }])
    expect((await send(session, 'two', half, from('198.51.100.2'))).json).toEqual({ remaining: 3 })
    // a poll is no burden, however often it comes
    for (let n = 0; n < 60; n++)
      expect((await client.ask('POST', '/guest/poll', { session }, from('198.51.100.1'))).status).toBe(200)
  })

  it('takes no room from the requests of agents, nor they from a message of a guest', async () => {
    await opened({ jsonBytesInFlightMax: 8 * MIB })
    const agent = await client.registered()
    const slow = slowMessage('198.51.100.1', 20 * MIB)
    await held(20 * MIB)
    const payload = toBase64(new Uint8Array(4 * MIB))
    const mail = { to_aid: agent.aid, from_aid: 'x', kind: 'message', interaction_id: 'i', payload }
    expect((await client.ask('POST', '/relay/send', mail, from('198.51.100.1'))).status).toBe(200)
    expect((await agent.poll()).status).toBe(200)
    await held(20 * MIB)
    slow.end()
  }, 120_000)
})

describe('an agent', () => {
  it('may say so much to a guest before it is fetched, and so many messages out of turn', async () => {
    await opened()
    const agent = await client.registered()
    const { session } = (await start('198.51.100.1')).json
    await send(session, 'hi')
    const [first] = await mailOf(agent)
    const task = first?.interaction_id ?? ''
    const say = async (number: number, text: string) => {
      const given = { hub: hub.aid, to: hub.aid, task, number, kind: kinds.message, payload: wordsFrom(text) }
      return (await client.post('/relay/send', openMail(agent, given))).status
    }
    const much = 'x'.repeat(400 * KIB)
    expect([await say(1, much), await say(2, much), await say(3, much)]).toEqual([200, 200, 500])
    await client.post('/guest/poll', { session })
    expect(await say(3, much)).toBe(200)
    await client.post('/guest/poll', { session })
    const outOfTurn: number[] = []
    for (let n = 0; n < 257; n++) {
      outOfTurn.push(await say(5 + n, 'x'))
      if (n % 100 === 0) await client.post('/guest/poll', { session })
    }
    expect([...new Set(outOfTurn.slice(0, 256)), outOfTurn.at(-1)]).toEqual([200, 500])
    expect([await say(4, 'x'), await say(262, 'x')]).toEqual([200, 200])
  }, 60_000)
})
