/** The operator's listener on a hub that is at work. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { encodeKel, incept, rotate, type VerifiedKel } from '../../protocol/identity/kel.ts'
import { defaultLimits, type Limits } from '../core/limits.ts'
import { type RunningHub, startHub } from '../serve.ts'
import { callRoute, makeClock, random, type Target, TestAgent } from '../testing/hub.ts'
import { sealedForStranger, sealedUnderCapability, sendEnvelope } from '../testing/mail.ts'
import { nextReply, openSocket, requestHead } from '../testing/sockets.ts'
import { openOperatorListener } from './listener.ts'
import { orderRunningHub } from './socket.ts'

const PAST_START_FLOOR_MS = 3000
/** After so long something is wrong. */
const HELD_WITHIN_MS = 10_000
const ends: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function start(
  watched: boolean,
  limits: Partial<Limits> = {},
): Promise<{ hub: RunningHub; target: Target; directory: string; told: [string, object][] }> {
  const directory = mkdtempSync(join(tmpdir(), 'svc-hub-watched-'))
  ends.push(() => rmSync(directory, { recursive: true, force: true }))
  const clock = makeClock()
  const told: [string, object][] = []
  const local = { host: '127.0.0.1', port: 0 }
  const hub = await startHub({
    config: {
      wires: [3],
      listen: local,
      baseUrl: undefined,
      dataDir: directory,
      limits: { ...defaultLimits, ...limits },
      ...(watched ? { operatorListen: local } : {}),
    },
    log: {
      info: () => undefined,
      warn: (event, facts) => void told.push([event, facts]),
      error: () => undefined,
    },
    now: clock.now,
    onBroken: () => undefined,
  })
  let closed = false
  const { close } = hub
  hub.close = async () => {
    if (!closed) await close()
    closed = true
  }
  ends.push(hub.close)
  clock.advance(PAST_START_FLOOR_MS)
  return { hub, directory, told, target: { url: hub.url, aid: hub.aid, clock } }
}

async function read(hub: RunningHub, path: string): Promise<{ status: number; text: string }> {
  const response = await fetch(`${hub.operatorUrl}${path}`)
  expect(response.headers.get('X-Content-Type-Options')).toBe('nosniff')
  return { status: response.status, text: await response.text() }
}

test('there is no operator listener unless one is configured, and its paths are not on the public one', async () => {
  const { hub } = await start(false)
  expect(hub.operatorUrl).toBeUndefined()
  for (const path of ['/metrics', '/readyz', '/livez'])
    expect([path, (await fetch(hub.url + path)).status]).toEqual([path, 404])
})

test('counts requests by route and status, refusals by code, mail and commits, and names nobody', async () => {
  const { hub, target, directory } = await start(true)
  const agent = new TestAgent(target)
  await agent.register()
  await orderRunningHub(directory, { command: 'admit', aid: agent.aid })
  expect((await agent.register()).status).toBe(200)
  const envelope = sealedUnderCapability(agent, agent.capability())
  expect((await sendEnvelope(target, envelope)).status).toBe(200)
  const stranger = new TestAgent(target)
  await orderRunningHub(directory, { command: 'admit', aid: stranger.aid })
  await stranger.register()
  const first = sealedForStranger(agent)
  const session = await stranger.openSession()
  expect((await sendEnvelope(target, first, session)).status).toBe(200)
  const held = agent.poll({ after_id: 2 }, { headers: { Prefer: 'wait=30' } })
  await callRoute(target, 'agentKel', undefined, { params: { aid: agent.aid } })
  await fetch(`${hub.url}/${agent.aid}/nowhere`, { headers: { 'X-Svc-Wire': '3' } })
  await expect
    .poll(async () => (await read(hub, '/metrics')).text, { timeout: HELD_WITHIN_MS })
    .toContain('svc_hub_held_polls 1\n')
  const { text } = await read(hub, '/metrics')

  expect(text).toContain('svc_hub_requests_total{route="POST /register",status="403"} 1')
  expect(text).toContain('svc_hub_requests_total{route="POST /register",status="200"} 2')
  expect(text).toContain('svc_hub_requests_total{route="GET /agents/{aid}/kel",status="200"} 1')
  expect(text).toContain('svc_hub_requests_total{route="none",status="404"} 1')
  expect(text).toContain('svc_hub_refusals_total{code="admission_required"} 1')
  expect(text).toContain('svc_hub_request_seconds_count{route="POST /relay/send"} 2')
  expect(text).toMatch(/svc_hub_store_group_changes_count [1-9]/)
  expect(text).toContain('svc_hub_envelopes_waiting 2\n')
  expect(text).toContain('svc_hub_stranger_envelopes_waiting 1\n')
  expect(text).toContain(`svc_hub_bytes_waiting ${envelope.bytes.length + first.bytes.length}\n`)
  expect(text).toContain('svc_hub_bytes_in_flight')
  expect(text).toMatch(/svc_hub_signature_engine\{engine="(sodium-native|node:crypto)"\} 1\n/)
  expect(text).toMatch(/svc_hub_credits_owed \d+\n/)
  expect(text).toContain('svc_hub_supply_halted 0\n')
  expect(text).toMatch(/process_resident_memory_bytes \d/)

  const spellings = [agent.aid, stranger.aid, hub.aid].flatMap(aid => {
    const bytes = Buffer.from(aid, 'base64url')
    return [
      aid,
      bytes.toString('hex'),
      bytes.toString('base64'),
      createHash('sha256').update(aid).digest('hex'),
    ]
  })
  for (const name of [...spellings, '127.0.0.1', '::1', agent.target.url.slice(7)])
    expect(text.toLowerCase()).not.toContain(name.toLowerCase())
  hub.hub.polls.endAll()
  await held
})

/** Where nothing listens any more. */
async function goneAddress(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return `http://127.0.0.1:${port}`
}

test('a peer is counted by its place in the list, and the operator reads how it answered', async () => {
  const { hub, target, directory } = await start(true)
  const [away, peer] = [new TestAgent(target), await start(false)]
  const kelOf = (log: VerifiedKel) => toBase64url(encodeKel(log.events))
  const list = (url: string, log: VerifiedKel) =>
    orderRunningHub(directory, { command: 'peers', add: { url, kel: kelOf(log) } })
  await list(await goneAddress(), away.log)
  await list(peer.hub.url, peer.hub.hub.context.identity.kel)
  const asked = { prefix: '', bits: 0, afterH: undefined }
  expect(await hub.hub.federation.bucket(asked, '127.0.0.9')).toMatchObject({ partial: true })

  const { text } = await read(hub, '/metrics')
  expect(text).toContain('svc_hub_peer_faulty{peer="1"} 1\n')
  expect(text).toContain('svc_hub_peer_calls_waiting{peer="1"} 0\n')
  expect(text).toContain('svc_hub_peer_stopped{peer="1"} 0\n')
  expect(text).not.toContain('svc_hub_peer_answered_seconds{peer="1"}')
  for (const name of [away.aid, peer.hub.aid, '127.0.0.1']) expect(text).not.toContain(name)
  const { result } = (await orderRunningHub(directory, { command: 'peers' })) as { result: unknown }
  const why = 'nothing listens there'
  expect(result).toMatchObject({
    peers: [
      { aid: away.aid, answered_at: null, fault: { why: expect.stringContaining(why) }, waiting: 0 },
      { aid: peer.hub.aid, fault: { why: expect.stringContaining('not a listed peer') } },
    ],
  })
})

test('a hub with as long a key history as there may be is listed', async () => {
  const { directory } = await start(true)
  let next = random(32)
  let log = incept({ seed: random(32), nextSeed: next, ts: 1 })
  while (log.events.length < 900) {
    const after = random(32)
    log = rotate(log, { seed: next, nextSeed: after, ts: log.events.length + 1 })
    next = after
  }
  const add = { url: 'https://hub.example', kel: toBase64url(encodeKel(log.events)) }
  const reply = await orderRunningHub(directory, { command: 'peers', add })
  expect(reply).toMatchObject({ ok: true, result: { peers: [{ aid: log.aid, kel_seq: 899 }] } })
})

test('says that it is starting until the hub serves', async () => {
  const opened = await openOperatorListener({ host: '127.0.0.1', port: 0 })
  ends.push(opened.close)
  const ready = await fetch(`${opened.url}/readyz`)
  expect([ready.status, await ready.text()]).toEqual([503, 'starting\n'])
  expect((await fetch(`${opened.url}/livez`)).status).toBe(200)
  expect((await fetch(`${opened.url}/metrics`)).status).toBe(200)
})

test('is alive from the start, ready while it serves, and not after the store failed or while it stops', async () => {
  const { hub } = await start(true)
  expect(await read(hub, '/livez')).toEqual({ status: 200, text: 'alive\n' })
  expect(await read(hub, '/readyz')).toEqual({ status: 200, text: 'ready\n' })
  expect((await read(hub, '/elsewhere')).status).toBe(404)
  expect((await fetch(`${hub.operatorUrl}/metrics`, { method: 'POST' })).status).toBe(404)

  const { store } = hub.hub.context
  const health = store.health
  expect((await read(hub, '/metrics')).text).toContain('svc_hub_store_full 0\n')
  Object.defineProperty(hub.hub.sends, 'isShortOfRoom', { value: true })
  expect((await read(hub, '/metrics')).text).toContain('svc_hub_store_full 1\n')
  store.health = async () => ({ full: false, locked: false, away: false, broken: true })
  expect(await read(hub, '/readyz')).toEqual({ status: 503, text: 'the store failed\n' })
  expect((await read(hub, '/livez')).status).toBe(200)
  store.health = health

  let stopping: { status: number; text: string } | undefined
  const { stop } = hub.hub
  hub.hub.stop = async () => {
    stopping = await read(hub, '/readyz')
    await stop()
  }
  await hub.close()
  expect(stopping).toEqual({ status: 503, text: 'stopping\n' })
})

test('connections that are too many are counted by their limit, and told in one line', async () => {
  const { hub, told } = await start(true, { connectionsMax: 4, connectionsPerAddressMax: 2 })
  const ask = async (from: string) => {
    const socket = await openSocket(hub.url, from)
    ends.push(() => void socket.destroy())
    socket.write(requestHead('GET', '/healthz'))
    return (await nextReply(socket))?.status
  }
  const kept = [await ask('127.0.0.2'), await ask('127.0.0.2')]
  const ofAddress = [await ask('127.0.0.2'), await ask('127.0.0.2'), await ask('127.0.0.2')]
  kept.push(await ask('127.0.0.3'), await ask('127.0.0.3'))
  const ofAll = [await ask('127.0.0.4'), await ask('127.0.0.5')]
  expect([kept, ofAddress, ofAll].map(all => [...new Set(all)])).toEqual([[200], [undefined], [undefined]])
  const { text } = await read(hub, '/metrics')
  expect(text).toContain('svc_hub_connections_closed_total{limit="address"} 3')
  expect(text).toContain('svc_hub_connections_closed_total{limit="hub"} 2')
  const line = ['connections were closed, there were too many', { address: 3, hub: 2 }]
  await expect.poll(() => told, { timeout: HELD_WITHIN_MS }).toContainEqual(line)
  expect(told.filter(([event]) => event === line[0])).toEqual([line])
  await ask('127.0.0.6')
  await hub.close()
  expect(told.at(-1)).toEqual([line[0], { hub: 1 }])
})
