/** Requests of peer hubs: who may make them, and what their signatures cover (hub API §4.6, §5.1). */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { fromBase64url } from '../../protocol/encoding/bytes.ts'
import { decodeKel, verifyKel } from '../../protocol/identity/kel.ts'
import { headers } from '../../protocol/wire3/headers.ts'
import type { Wire3RouteName } from '../../protocol/wire3/routes.ts'
import { callRoute, random, registeredAgent, startTestHub, TestAgent, type TestHub } from '../testing/hub.ts'
import { sealedForStranger, sealedUnderCapability, sendHeaders, type TestEnvelope } from '../testing/mail.ts'
import { expectRefusal } from '../testing/refusals.ts'
import { bodyOf, type Changes, peerOf, rows, sendRow } from '../testing/routes.ts'
import { nextReply, openSocket, requestHead } from '../testing/sockets.ts'

const ofPeers = rows.filter(([, row]) => row.signedBy === 'hub')

let hub: TestHub
let agent: TestAgent
let peer: TestAgent
let envelope: TestEnvelope
beforeAll(async () => {
  hub = await startTestHub({ limits: { bucketRate: { perSecond: 100, burst: 1000 } } })
})
afterAll(() => hub.close())
beforeEach(async () => {
  agent = await registeredAgent(hub)
  peer = peerOf(agent)
  envelope = sealedUnderCapability(agent, agent.capability())
})

/** A request that the hub takes, but for what a test changes in it. */
function ask(name: Wire3RouteName, changes: Changes = {}) {
  const isMail = name === 'fedForward'
  const given = { ...changes, headers: { ...(isMail && sendHeaders(envelope)), ...changes.headers } }
  return sendRow(name, agent, { body: isMail ? envelope.bytes : bodyOf(name, agent), ...given })
}
const waiting = async () => (await agent.call('relayPoll', { limit: 10 })).json['messages']

describe.each(ofPeers)('%s', name => {
  test('answers a listed peer', async () => {
    expect((await ask(name)).status).toBe(200)
  })

  test('answers nobody else: an agent, a stranger, a hub that was taken off the list', async () => {
    for (const by of [agent, new TestAgent(hub)]) expectRefusal(await ask(name, { sign: { by } }), 'not_peer')
    hub.running.hub.context.peers.replace([])
    expectRefusal(await ask(name, { sign: { by: peer } }), 'not_peer')
  })

  test('takes no signature for another hub, another action, another body or by another key', async () => {
    const other = new TestAgent(hub)
    other.seed = random(32)
    other.log = peer.log
    const wrong: Changes[] = [
      { sign: { hub: agent.aid } },
      { sign: { action: 'poll' } },
      { sign: { by: other } },
      { sign: 'none', headers: peer.sign(`fed_${name}`, 'POST', '/', random(10)) },
    ]
    for (const changes of wrong) expectRefusal(await ask(name, changes), 'unauthorized')
    expect(await waiting()).toEqual([])
  })

  test('tells a hub with a newer key where it is looked for', async () => {
    const rotated = new TestAgent(hub)
    rotated.log = { ...peer.log, seq: peer.log.seq + 1 }
    const reply = await ask(name, { sign: { by: rotated } })
    expectRefusal(reply, 'unauthorized')
    expect(reply.json['error']).toMatch(
      /hold that key event yet; show it at GET \/hub\/identity, then sign again/,
    )
  })

  test('works once for each signature, and never with a time before the last', async () => {
    const body = name === 'fedForward' ? envelope.bytes : bodyOf(name, agent)
    const again = { sign: { ts: peer.nextTs() }, body }
    expect((await ask(name, again)).status).toBe(200)
    expectRefusal(await ask(name, again), 'replayed')
    expectRefusal(await ask(name, { sign: { ts: 1 } }), 'ts_stale')
  })
})

describe('mail that a peer hands on', () => {
  test('under a capability waits in the mailbox, and the same again is a duplicate', async () => {
    const first = await ask('fedForward')
    expect(first.json).toMatchObject({ status: 'queued', recipient_quiet: expect.any(Boolean) })
    expect((await ask('fedForward')).json).toMatchObject({ status: 'duplicate', rid: first.json['rid'] })
    expect(await waiting()).toHaveLength(1)
  })

  test('of a stranger needs no session here: the peer has judged it', async () => {
    envelope = sealedForStranger(agent)
    expect((await ask('fedForward')).json).toMatchObject({ status: 'queued' })
    expect(await waiting()).toHaveLength(1)
  })

  test('of strangers has half of what a mailbox takes in a minute, and leaves the rest to others', async () => {
    const { strangerPerMinute } = hub.running.hub.context.limits
    const told = []
    for (let n = 0; n <= strangerPerMinute / 2; n++) {
      envelope = sealedForStranger(agent)
      told.push((await ask('fedForward')).json['reason'])
    }
    expect(told.filter(reason => reason === undefined)).toHaveLength(strangerPerMinute / 2)
    expect(told.at(-1)).toBe('strangers_busy')
  })

  test('is not taken where one byte of it differs from what was signed, large or small', async () => {
    for (const contentBytes of [1000, 200_000]) {
      envelope = sealedForStranger(agent, { contentBytes })
      const other = sealedForStranger(agent, { contentBytes })
      const signed = peer.sign('fed_forward', 'POST', '/fed/v3/forward', other.bytes)
      expectRefusal(await ask('fedForward', { sign: 'none', headers: signed }), 'unauthorized')
    }
    expect(await waiting()).toEqual([])
  })

  test('is taken once, although later requests were taken while its body came', async () => {
    envelope = sealedUnderCapability(agent, agent.capability(), { contentBytes: 100_000 })
    const signed = peer.sign('fed_forward', 'POST', '/fed/v3/forward', envelope.bytes)
    const named = { 'Content-Type': 'application/vnd.svc.envelope+cbor', ...sendHeaders(envelope), ...signed }
    const socket = await openSocket(hub.url)
    socket.write(
      requestHead('POST', '/fed/v3/forward', {
        ...named,
        'Content-Length': String(envelope.bytes.length),
        Expect: '100-continue',
      }),
    )
    expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1.1 100 Continue/)
    expect((await ask('fedBucket')).status).toBe(200)
    socket.write(envelope.bytes)
    expect((await nextReply(socket))?.json).toMatchObject({ status: 'queued' })
    expectRefusal(await ask('fedForward', { sign: 'none', headers: signed }), 'replayed')
    socket.destroy()
  })

  test('by somebody who only says that it is the peer takes nothing of what the peer may use', async () => {
    const { context, federation } = hub.running.hub
    const counted = vi.spyOn(federation, 'count')
    const forger = new TestAgent(hub)
    forger.log = peer.log
    for (let n = 0; n <= context.limits.strangerPerMinute / 2; n++) {
      envelope = sealedForStranger(agent)
      expectRefusal(await ask('fedForward', { sign: { by: forger } }), 'unauthorized')
    }
    expect(counted).not.toHaveBeenCalled()
    counted.mockRestore()
    envelope = sealedForStranger(agent)
    expect((await ask('fedForward')).json).toMatchObject({ status: 'queued' })
  })

  test('needs a credential that holds, as at a send', async () => {
    const given = { headers: { [headers.access]: '' } }
    expectRefusal(await ask('fedForward', given), 'access_invalid')
  })
})

test('a question of a peer, or its mail, goes no further: two hubs that list each other ask nothing in a circle', async () => {
  const asked: (string | undefined)[] = []
  const server = createServer(({ url }, response) => {
    asked.push(url)
    response.writeHead(404).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const { peers } = hub.running.hub.context
  const third = new TestAgent(hub)
  peers.replace([...peers.all, { aid: third.aid, url: `http://127.0.0.1:${port}`, log: third.log }])
  const elsewhere = new TestAgent(hub)
  elsewhere.rotate({ home: third.aid })
  envelope = sealedForStranger(elsewhere)
  expectRefusal(await ask('fedForward', { headers: { [headers.home]: third.aid } }), 'unknown_destination')
  for (const name of ['fedBucket', 'fedStatus'] as const) expect((await ask(name)).status).toBe(200)
  // what this hub reads by itself is no answer
  expect(asked.filter(url => !/reviews|cards/.test(url ?? ''))).toEqual([])
  server.close()
})

test('the key histories of peers are public', async () => {
  const { json } = await callRoute(hub, 'hubKels', undefined)
  const [shown] = json['hubs'] as { aid: string; kel: string }[]
  expect(shown?.aid).toBe(peer.aid)
  expect(verifyKel(decodeKel(fromBase64url(shown?.kel ?? ''))).aid).toBe(peer.aid)
})
