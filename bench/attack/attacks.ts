/**
 * Attacks on a hub as a stranger or a single member can make them, each from one address: what is prepared by the
 * operator's side, and what the attacking process then does until its time is over. Loopback only.
 */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { orderRunningHub } from '../../hub/operator/socket.ts'
import { TestAgent } from '../../hub/testing/hub.ts'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { KEL_EVENTS_MAX } from '../../protocol/identity/kel.ts'
import { encodeAccess } from '../../protocol/mail/access.ts'
import { ENVELOPE_TYPE } from '../../protocol/wire3/headers.ts'
import { type HubProcess, load, prepareSends, rawRequest } from '../lib/hub-load.ts'
import { openAttacks } from './open-attacks.ts'
import { ATTACKER, type Attack, base, base64, type Orders } from './orders.ts'
import { peerAttacks } from './peer-attacks.ts'

const MIB = 1024 * 1024
/** Together 256 MiB, in any order; then small ones, for the gaps that others leave. */
const FILLING = [96, 96, 32, 16, 8, 4, 2, 1, ...Array.from({ length: 9 }, (_, i) => 1 / 2 ** (i + 1))]
const SMALL_HEADS = 183
const SMALL_BYTES = 600
const CONNECTIONS_SETTLE_MS = 6000
const LONG_LOG_EVENTS = Math.min(941, KEL_EVENTS_MAX)

/** Headers of a first contact, of no session that there is. */
const anyCredential = {
  'Content-Type': ENVELOPE_TYPE,
  'X-Svc-Access': toBase64url(encodeAccess({ kind: 0 })),
  'X-Svc-Session': 'A'.repeat(22),
  'X-Svc-MAC': 'A'.repeat(43),
  'X-Svc-TS': String(Date.now()),
}
const forwarded = { 'X-Forwarded-For': ATTACKER }
/** Heads only: the body that they declare never comes. */
function head(hub: HubProcess, path: string, headers: Record<string, string>, length: number): string {
  const lines = Object.entries({
    Host: new URL(hub.url).host,
    'X-Svc-Wire': '3',
    ...forwarded,
    ...headers,
    'Content-Length': String(length),
  })
  const text = `POST ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
  return Buffer.from(text).toString('base64')
}

async function admitted(hub: HubProcess, agent: TestAgent): Promise<void> {
  await orderRunningHub(hub.directory, { command: 'admit', aid: agent.aid })
}

/** A registered agent whose log is nearly as long as one may be, and its keys as they stood before the last event. */
async function longLived(hub: HubProcess) {
  const agent = new TestAgent(hub, { bornMs: hub.clock.now() - 2 * LONG_LOG_EVENTS })
  await admitted(hub, agent)
  let { log, seed, nextSeed } = agent
  for (let i = 1; i < LONG_LOG_EVENTS; i++) {
    ;({ log, seed, nextSeed } = agent)
    agent.rotate({ ts: i === LONG_LOG_EVENTS - 1 ? hub.clock.now() : log.ts + 1 })
  }
  const reply = await agent.register()
  if (reply.status !== 200) throw new Error(`not registered: ${JSON.stringify(reply.json)}`)
  return { agent, before: { log, seed, nextSeed } }
}

export const attacks: readonly Attack[] = [
  {
    name: 'declared-bodies',
    what: 'bodies of 96 MiB are declared and never sent, without a credential',
    orders: async (hub, seconds) => ({
      ...base(hub, seconds),
      sockets: 200,
      once: true,
      requests: [...FILLING, ...Array<number>(SMALL_HEADS).fill(SMALL_BYTES / MIB)].map(size =>
        head(hub, '/relay/send', anyCredential, size * MIB),
      ),
    }),
  },
  {
    name: 'listings',
    what: 'GET /agents of a hub where one agent has a log of 941 events',
    orders: async (hub, seconds) => {
      await longLived(hub)
      return {
        ...base(hub, seconds),
        requests: [base64(rawRequest(hub, 'GET', '/agents', forwarded, new Uint8Array(0)))],
      }
    },
  },
  {
    name: 'small-values',
    what: 'bodies of 800 KiB of small values are sent under a signature that does not hold',
    orders: async (hub, seconds) => {
      const body = Buffer.from(`{"items":[0${',0'.repeat(400 * 1024)}]}`)
      const claimed = new TestAgent(hub).sign('ack', 'POST', '/relay/ack', new Uint8Array(0))
      const headers = { 'Content-Type': 'application/json', ...forwarded, ...claimed }
      const request = rawRequest(hub, 'POST', '/relay/ack', headers, body)
      return { ...base(hub, seconds), sockets: 16, requests: [base64(request)] }
    },
  },
  {
    name: 'pipelined',
    what: 'a MiB of requests is written to each socket, none of which waits for an answer',
    orders: async (hub, seconds) => {
      const text = `GET / HTTP/1.1\r\nHost: ${new URL(hub.url).host}\r\n\r\n`
      const requests = [Buffer.from(text.repeat(MIB / text.length)).toString('base64')]
      return { ...base(hub, seconds), from: '127.0.0.9', requests, reads: false, sockets: 100 }
    },
  },
  {
    name: 'connections',
    what: 'as many connections as one address gets, held open',
    settleMs: CONNECTIONS_SETTLE_MS,
    orders: async (hub, seconds) => ({
      ...base(hub, seconds),
      from: '127.0.0.9',
      sockets: 9000,
      once: true,
      requests: [Buffer.from('GET /healthz HTTP/1.1\r\n').toString('base64')],
    }),
  },
  {
    name: 'unread-polls',
    what: '200 sockets of one agent poll a full mailbox and read no answer',
    orders: async (hub, seconds) => {
      const agent = new TestAgent(hub)
      await admitted(hub, agent)
      await agent.register()
      await fill(hub, agent)
      const requests = Array.from({ length: 400 }, () => {
        const body = Buffer.from('{}')
        const signed = agent.sign('poll', 'POST', '/relay/poll', body)
        const headers = { 'Content-Type': 'application/json', ...forwarded, ...signed }
        return base64(rawRequest(hub, 'POST', '/relay/poll', headers, body))
      })
      return { ...base(hub, seconds), sockets: 200, reads: false, requests }
    },
  },
  {
    name: 'forks',
    what: 'forks of a log of 941 events are pushed, each another one',
    orders: async (hub, seconds) => {
      const { agent, before } = await longLived(hub)
      const requests = Array.from({ length: 24 }, (_, i) => {
        const twin = Object.assign(new TestAgent(hub), before)
        twin.rotate({ ts: agent.log.ts + 1 + i })
        const body = Buffer.from(JSON.stringify({ aid: agent.aid, kel: twin.kel }))
        const headers = { 'Content-Type': 'application/json', ...forwarded }
        return base64(rawRequest(hub, 'POST', '/agents/kel:push', headers, body))
      })
      return { ...base(hub, seconds), sockets: 16, requests }
    },
  },
  ...peerAttacks,
  ...openAttacks,
]

/** Mail in the mailbox of an agent, so that its polls have large answers. */
async function fill(hub: HubProcess, agent: TestAgent): Promise<void> {
  await load(hub.url, prepareSends(hub, [agent], 256, 64 * 1024), 8)
}

/** Carries out orders until their time is over; for the attacking process. */
export async function attack(orders: Orders): Promise<{ opened: number; written: number; closed: number }> {
  const counts = { opened: 0, written: 0, closed: 0 }
  const endsAt = performance.now() + orders.seconds * 1000
  const requests = orders.requests.map(text => Buffer.from(text, 'base64'))
  const body = orders.body && {
    ...{ part: Buffer.from(orders.body.part, 'base64'), end: Buffer.from(orders.body.end, 'base64') },
    times: orders.body.times,
  }
  const { hostname, port } = new URL(orders.url)
  const sockets = new Set<Socket>()
  let next = 0
  const open = (): void => {
    if (performance.now() >= endsAt) return
    const socket = connect({ host: hostname, port: Number(port), localAddress: orders.from })
    sockets.add(socket)
    if (!orders.reads) socket.pause()
    const write = (): void => {
      const request = requests[next++ % requests.length]
      if (request === undefined || performance.now() >= endsAt) return
      counts.written += 1
      socket.write(request)
      if (body !== undefined) void writeBody(socket, body)
    }
    socket.on('connect', () => {
      counts.opened += 1
      write()
      if (!orders.reads && !orders.once) for (let i = 0; i < 3; i++) write()
    })
    if (orders.reads && !orders.once) socket.on('data', write)
    // A refusal: another place may be free meanwhile.
    else if (orders.reads) socket.on('data', () => socket.destroy())
    socket.on('error', () => undefined)
    socket.on('close', () => {
      sockets.delete(socket)
      counts.closed += 1
      setTimeout(open, 20)
    })
  }
  for (let i = 0; i < orders.sockets; i++) {
    open()
    if (i % 500 === 499) await new Promise(resolve => setTimeout(resolve, 20))
  }
  await new Promise(resolve => setTimeout(resolve, Math.max(0, endsAt - performance.now())))
  for (const socket of sockets) socket.destroy()
  return counts
}

/** As fast as it is taken; one that is cut writes no more. */
async function writeBody(
  socket: Socket,
  { part, times, end }: { part: Buffer; times: number; end: Buffer },
): Promise<void> {
  for (let n = 0; n < times; n++) {
    if (socket.destroyed) return
    if (!socket.write(part))
      await Promise.race([once(socket, 'drain'), once(socket, 'close')]).catch(() => undefined)
  }
  socket.write(end)
}

/** A listener that only accepts and closes: what the attacking process itself costs this machine. */
export async function startIdleListener(): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer(socket => {
    socket.on('error', () => undefined)
    socket.destroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => new Promise<void>(done => server.close(() => done())),
  }
}
