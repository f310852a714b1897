/** Mutated real requests of every route, sent to a running hub over HTTP. */
import { connect } from 'node:net'
import { defaultLimits, type Limits } from '../../hub/core/limits.ts'
import { cardOf } from '../../hub/testing/cards.ts'
import {
  random,
  registeredAgent,
  request,
  startTestHub,
  type TestAgent,
  type TestHub,
} from '../../hub/testing/hub.ts'
import { sealedForStranger, sealedUnderCapability, sendHeaders } from '../../hub/testing/mail.ts'
import { reviewUpload } from '../../hub/testing/reviews.ts'
import { callPath } from '../../protocol/contract/client.ts'
import type { RouteRow } from '../../protocol/contract/route.ts'
import { utf8 } from '../../protocol/encoding/bytes.ts'
import { authCodes, codes, commonCodes } from '../../protocol/wire3/codes.ts'
import { headers } from '../../protocol/wire3/headers.ts'
import { type Wire3RouteName, wire3Routes } from '../../protocol/wire3/routes.ts'
import { type Draw, drawFrom, mutate } from './mutate.ts'
import { bodies, queries } from './route-samples.ts'

const UNBOUNDED = { perSecond: 1e6, burst: 1e6 }
const RAW_ANSWER_MS = 2000

/** `leaver` is the agent that leaves next. */
export type FuzzWorld = { hub: TestHub; agent: TestAgent; other: TestAgent; leaver: TestAgent }

/** A hub whose buckets never empty, with two agents of whom there is everything. */
export async function startFuzzWorld(): Promise<FuzzWorld> {
  const rates = Object.keys(defaultLimits).filter(name => name.endsWith('Rate'))
  const limits: Partial<Limits> = {
    ...Object.fromEntries(rates.map(name => [name, UNBOUNDED])),
    probationMs: 0,
    sessionsPerMinute: 1e6,
    strangerPerMinute: 1e6,
  }
  const hub = await startTestHub({ limits })
  const agent = await registeredAgent(hub)
  const [other, leaver] = [await registeredAgent(hub), await registeredAgent(hub)]
  await agent.call('register', { aid: agent.aid, kel: agent.kel, a2a_card: cardOf(agent) })
  return { hub, agent, other, leaver }
}

/** A body that the route takes from this agent now. */
function realBody(name: Wire3RouteName, { agent, other }: FuzzWorld): Uint8Array {
  const made: Partial<Record<Wire3RouteName, () => unknown>> = {
    register: () => ({ aid: agent.aid, kel: agent.kel, a2a_card: cardOf(agent) }),
    publishKeys: () => ({ keys: agent.makeKeys(), prev_seq: 1 }),
    pushKel: () => ({ aid: agent.aid, kel: agent.kel }),
    uploadReview: () => reviewUpload(agent, other),
  }
  return utf8(JSON.stringify(made[name]?.() ?? bodies[name] ?? {}))
}

type Sent = { path: string; headers: Record<string, string>; body: Uint8Array }

/** A request of the row, as it should be. */
function realRequest(name: Wire3RouteName, row: RouteRow, world: FuzzWorld): Sent {
  const params = { aid: world.agent.aid, capability: 'any' }
  const path = callPath(row, { params, query: queries[name] ?? {} })
  if (row.raw !== undefined) {
    const envelope =
      Math.random() < 0.5
        ? sealedUnderCapability(world.agent, world.agent.capability(), { contentBytes: 600 })
        : sealedForStranger(world.agent, { contentBytes: 600 })
    return { path, headers: sendHeaders(envelope), body: envelope.bytes }
  }
  return { path, headers: {}, body: row.method === 'GET' ? new Uint8Array(0) : realBody(name, world) }
}

/** Mutates body, path or headers; signed routes are mostly signed over what was mutated, to get past the door. */
function mutated(name: Wire3RouteName, row: RouteRow, world: FuzzWorld, draw: Draw): Sent {
  const real = realRequest(name, row, world)
  const what = row.method === 'GET' ? 1 + draw(2) : draw(3)
  const sent = { ...real, headers: { ...real.headers } }
  if (what === 0) sent.body = mutate([real.body, random(64)], draw)
  if (what === 1) sent.path = mutatedPath(real.path, draw)
  if (row.auth === 'signed' && draw(8) > 0) {
    const seen = new URL(world.hub.url + sent.path)
    Object.assign(
      sent.headers,
      world.agent.sign(row.action ?? '', row.method, seen.pathname + seen.search, sent.body),
    )
  }
  if (what === 2) mutateHeader(sent.headers, draw)
  return sent
}

function mutatedPath(path: string, draw: Draw): string {
  const text = Buffer.from(mutate([utf8(path)], draw)).toString('latin1')
  const path_ = text.replace(/[^!-~]/g, byte => `%${byte.charCodeAt(0).toString(16).padStart(2, '0')}`)
  return `/${path_.replace(/^\/+/, '').replaceAll('#', '')}`
}

function mutateHeader(given: Record<string, string>, draw: Draw): void {
  const names = [
    ...Object.values(headers),
    'Content-Type',
    'Prefer',
    'Accept',
    'X-Forwarded-For',
    'Content-Encoding',
  ]
  const name = names[draw(names.length)] as string
  const value = Buffer.from(mutate([utf8(given[name] ?? 'wait=0')], draw)).toString('latin1')
  given[name] = value.replace(/[^\t -~\x80-\xff]/g, '').trim()
}

/** What is wrong with an answer to anything at all; undefined if nothing is. */
export async function fuzzRoute(
  name: Wire3RouteName,
  all: FuzzWorld,
  seed: number,
): Promise<string | undefined> {
  const world = name === 'deregister' ? { ...all, agent: all.leaver } : all
  const row: RouteRow = wire3Routes[name]
  const sent = mutated(name, row, world, drawFrom(seed))
  const reply = await request(world.hub.url + sent.path, row.method, {
    headers: sent.headers,
    ...(row.method === 'GET' ? {} : { body: sent.body }),
  })
  if (reply.status === 200) {
    if (name === 'deregister') all.leaver = await registeredAgent(all.hub)
    return undefined
  }
  // A page says to a person that there is no such thing.
  if (reply.status === 404 && row.produces === 'html' && 'text' in reply.json) return undefined
  const reason = String(reply.json['reason'])
  const spelled = `${reply.status} ${JSON.stringify(reply.json)} to ${JSON.stringify(sent.path)}`
  if (!Object.hasOwn(codes, reason)) return `no code of the table: ${spelled}`
  if (codes[reason as keyof typeof codes].status !== reply.status) return `another status: ${spelled}`
  if (reason === 'internal') return `failed: ${spelled}`
  const sameRoute =
    new URL(world.hub.url + sent.path).pathname ===
    new URL(world.hub.url + realRequest(name, row, world).path).pathname
  const known: readonly string[] = [
    ...row.codes,
    ...commonCodes,
    ...((authCodes as Record<string, readonly string[]>)[row.auth] ?? []),
  ]
  if (sameRoute && !known.includes(reason)) return `a code that the row does not name: ${spelled}`
  return undefined
}

/** Bytes that are hardly HTTP any more: the hub answers or hangs up, and serves the next one. */
export async function fuzzConnection(world: FuzzWorld, seed: number): Promise<void> {
  const { port, hostname } = new URL(world.hub.url)
  const names = Object.keys(wire3Routes) as Wire3RouteName[]
  const draw = drawFrom(seed)
  const name = names[draw(names.length)] as Wire3RouteName
  const row: RouteRow = wire3Routes[name]
  const { path, headers: given, body } = realRequest(name, row, world)
  const lines = Object.entries({ Host: `${hostname}:${port}`, [headers.wire]: '3', ...given })
  const head = [`${row.method} ${path} HTTP/1.1`, ...lines.map(([key, value]) => `${key}: ${value}`)]
  const whole = Buffer.concat([
    Buffer.from(`${head.join('\r\n')}\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`),
    body,
  ])
  await new Promise<void>(resolve => {
    const socket = connect(Number(port), hostname)
    socket.setTimeout(RAW_ANSWER_MS, () => socket.destroy())
    socket.on('error', () => undefined)
    socket.on('close', () => resolve())
    socket.resume()
    socket.end(mutate([whole], draw))
  })
}
