/** Wire 3 to be fuzzed: its requests as agents sign them, and the codes that its rows may answer. */
import { defaultLimits, type Limits } from '../../hub/core/limits.ts'
import { cardOf } from '../../hub/testing/cards.ts'
import {
  type Reply,
  random,
  registeredAgent,
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
import { headers, WIRE } from '../../protocol/wire3/headers.ts'
import { type Wire3RouteName, wire3Routes } from '../../protocol/wire3/routes.ts'
import type { FuzzLine, Sent } from './traffic.ts'
import { bodies, queries } from './wire3-samples.ts'

const UNBOUNDED = { perSecond: 1e6, burst: 1e6 }

/** Buckets that never empty. */
export const unbounded: Partial<Limits> = Object.fromEntries(
  Object.keys(defaultLimits)
    .filter(name => name.endsWith('Rate'))
    .map(name => [name, UNBOUNDED]),
)

/** `leaver` is the agent that leaves next. */
type World = { hub: TestHub; agent: TestAgent; other: TestAgent; leaver: TestAgent }

const agentOf = (name: string, { agent, leaver }: World): TestAgent =>
  name === 'deregister' ? leaver : agent

/** A body that the route takes from this agent now. */
function realBody(name: Wire3RouteName, agent: TestAgent, { other }: World): Uint8Array {
  const made: Partial<Record<Wire3RouteName, () => unknown>> = {
    register: () => ({ aid: agent.aid, kel: agent.kel, a2a_card: cardOf(agent) }),
    publishKeys: () => ({ keys: agent.makeKeys(), prev_seq: 1 }),
    pushKel: () => ({ aid: agent.aid, kel: agent.kel }),
    uploadReview: () => reviewUpload(agent, other),
  }
  return utf8(JSON.stringify(made[name]?.() ?? bodies[name] ?? {}))
}

const rows: Readonly<Record<string, RouteRow>> = wire3Routes

export const wire3Line: FuzzLine<World> = {
  name: `wire ${WIRE}`,
  health: '/healthz',
  rows,
  headers: Object.values(headers),
  always: { [headers.wire]: String(WIRE) },
  random: () => random(64),
  async start() {
    const hub = await startTestHub({
      limits: { ...unbounded, probationMs: 0, sessionsPerMinute: 1e6, strangerPerMinute: 1e6 },
    })
    const agent = await registeredAgent(hub)
    const [other, leaver] = [await registeredAgent(hub), await registeredAgent(hub)]
    await agent.call('register', { aid: agent.aid, kel: agent.kel, a2a_card: cardOf(agent) })
    return { hub, agent, other, leaver }
  },
  real(name, world) {
    const row = rows[name] as RouteRow
    const agent = agentOf(name, world)
    const params = { aid: agent.aid, capability: 'any' }
    const path = callPath(row, { params, query: queries[name as Wire3RouteName] ?? {} })
    if (row.raw !== undefined) {
      const envelope =
        Math.random() < 0.5
          ? sealedUnderCapability(agent, agent.capability(), { contentBytes: 600 })
          : sealedForStranger(agent, { contentBytes: 600 })
      return { path, headers: sendHeaders(envelope), body: envelope.bytes }
    }
    const isRead = row.method === 'GET'
    return {
      path,
      headers: {},
      body: isRead ? new Uint8Array(0) : realBody(name as Wire3RouteName, agent, world),
    }
  },
  sign(name, { path, body }: Sent, world) {
    const { auth, action = '', method } = rows[name] as RouteRow
    if (auth !== 'signed') return {}
    const seen = new URL(world.hub.url + path)
    return agentOf(name, world).sign(action, method, seen.pathname + seen.search, body)
  },
  async done(name, world) {
    if (name === 'deregister') world.leaver = await registeredAgent(world.hub)
  },
  judge(name, { status, json }: Reply, isOwn) {
    const row = rows[name] as RouteRow
    if (status === 200) return undefined
    // A page says to a person that there is no such thing.
    if (status === 404 && row.produces === 'html' && 'text' in json) return undefined
    const reason = String(json['reason'])
    if (!Object.hasOwn(codes, reason)) return 'no code of the table'
    if (codes[reason as keyof typeof codes].status !== status) return 'another status'
    if (reason === 'internal') return 'failed'
    const known: readonly string[] = [
      ...row.codes,
      ...commonCodes,
      ...((authCodes as Record<string, readonly string[]>)[row.auth] ?? []),
    ]
    return isOwn && !known.includes(reason) ? 'a code that the row does not name' : undefined
  },
}
