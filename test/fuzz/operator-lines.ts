/** What a hub serves its operator, to be fuzzed: the surface under its token, and the listener for machines that watch it. */
import { ADMIN_TOKEN, MONITOR_TOKEN, startAdminHub } from '../../hub/testing/admin.ts'
import { type Reply, random, type TestHub } from '../../hub/testing/hub.ts'
import type { OpenAgent } from '../../hub/testing/wire1.ts'
import { callPath } from '../../protocol/contract/client.ts'
import { type RouteRow, route } from '../../protocol/contract/route.ts'
import { utf8 } from '../../protocol/encoding/bytes.ts'
import { type Failure, failures } from '../../protocol/wire1/failures.ts'
import { WIRE1, WIRE1_HEADER } from '../../protocol/wire1/headers.ts'
import { type AdminRouteName, adminRoutes } from '../../protocol/wire1/routes/admin.ts'
import type { FuzzLine } from './traffic.ts'
import { unbounded } from './wire3-line.ts'

const rows: Readonly<Record<string, RouteRow>> = adminRoutes
/** What every route may answer: what is no request of it, and what is not there. */
const COMMON: readonly Failure[] = ['malformed', 'too_new', 'unknown']

type World = { hub: TestHub; agent: OpenAgent; vouched: OpenAgent; session: string }

const bodies: Partial<Record<AdminRouteName, (world: World) => object>> = {
  adminLogin: () => ({ token: ADMIN_TOKEN }),
  adminQuota: () => ({ guest_messages: 5 }),
  adminModerate: () => ({ listed: true, reason: 'as asked' }),
  adminVouch: ({ vouched }) => ({ aid: vouched.aid, badge: 'ours', place: 1 }),
  adminOps: () => ({ listed: true, guest_messages: 5, badge: 'ours', place: 2 }),
  adminAcl: ({ agent }) => ({ senders: 'named', aids: [agent.aid], visitors: true }),
}
const queries: Partial<Record<AdminRouteName, Record<string, string>>> = {
  adminAgents: { q: 'bob', limit: '10' },
  adminArchive: { reason: 'as asked' },
  adminDiscover: { cap: 'text.*', limit: '10' },
  adminTasks: { column: 'ready', after: 'x' },
  adminAudit: { after: '7' },
}

let requests = 0
/** Wrong tokens count by the address from which they come, and nobody is to be shut out here. */
const address = (): string => `10.${[16, 8, 0].map(bits => (requests >> bits) & 255).join('.')}`

/** Beside what a route takes stands a token that nobody asked for, every other time. */
function queryOf(name: string): Record<string, string> {
  requests += 1
  const query = queries[name as AdminRouteName] ?? {}
  return requests % 2 === 0 ? query : { ...query, token: ADMIN_TOKEN }
}

const askAs = (hub: TestHub, method: string, path: string, body?: object) =>
  fetch(`${new URL(hub.running.adminUrl ?? '').origin}${path}`, {
    method,
    headers: { Authorization: `Bearer ${ADMIN_TOKEN}`, 'Content-Type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })

export const adminLine: FuzzLine<World> = {
  name: 'the surface of the operator',
  health: '/admin/healthz',
  rows,
  headers: ['Authorization', WIRE1_HEADER, 'Origin', 'Host'],
  always: { [WIRE1_HEADER]: String(WIRE1), 'Content-Type': 'application/json' },
  secrets: [ADMIN_TOKEN, MONITOR_TOKEN],
  random: () => random(64),
  async start() {
    const { hub, client } = await startAdminHub({ limits: unbounded, guests: true })
    const [agent, vouched] = [await client.registered({ guest_messages: 9 }), await client.registered()]
    await askAs(hub, 'POST', '/admin/api/official', { aid: vouched.aid })
    const { json } = await client.post('/guest/start', { aid: agent.aid })
    return { hub, agent, vouched, session: String(json['session']) }
  },
  urlOf: ({ hub }) => new URL(hub.running.adminUrl ?? '').origin,
  async real(name, world) {
    const row = rows[name] as RouteRow
    const { agent, vouched, session } = world
    const params = { aid: agent.aid, id: row.path.includes('session') ? session : vouched.aid }
    const path = callPath(row, {
      params: { ...params, what: 'liveness', source: 'guest' },
      query: queryOf(name),
    })
    const token = name === 'adminMonitor' ? MONITOR_TOKEN : ADMIN_TOKEN
    const shown: Record<string, string> = row.auth === 'bearer' ? { Authorization: `Bearer ${token}` } : {}
    const body = bodies[name as AdminRouteName]?.(world) ?? {}
    return {
      path,
      headers: { ...shown, 'X-Forwarded-For': address() },
      body: utf8(row.method === 'POST' ? JSON.stringify(body) : ''),
    }
  },
  async done(name, { hub, agent, vouched }) {
    if (name === 'adminArchive') await askAs(hub, 'POST', `/admin/api/deleted/${agent.aid}/restore`, {})
    if (name === 'adminUnvouch') await askAs(hub, 'POST', '/admin/api/official', { aid: vouched.aid })
  },
  judge(name, { status, json }: Reply, isOwn) {
    const row = rows[name] as RouteRow
    if (status === 200)
      return row.reply === undefined || !isOwn || row.reply.safeParse(json).success
        ? undefined
        : 'another reply than the row says'
    const named = [...COMMON, ...(row.codes as Failure[])].map(code => failures[code])
    if (isOwn && !named.includes(status as (typeof named)[number]))
      return 'a status that the row does not name'
    return typeof json['error'] === 'string' ? undefined : 'no sentence'
  },
}

const shown = (path: string) => route({ method: 'GET', path, auth: 'none', produces: 'text', codes: [] })

export const watchedLine: FuzzLine = {
  name: 'the listener for machines that watch a hub',
  health: '/livez',
  rows: { livez: shown('/livez'), readyz: shown('/readyz'), metrics: shown('/metrics') },
  headers: ['Accept', 'Origin', 'Host'],
  always: {},
  random: () => random(64),
  async start() {
    const { hub } = await startAdminHub({ operatorListen: { host: '127.0.0.1', port: 0 } })
    return { hub }
  },
  urlOf: ({ hub }) => hub.running.operatorUrl ?? '',
  real: async name => ({ path: `/${name}`, headers: {}, body: new Uint8Array(0) }),
  judge: (_, { status, json }, isOwn) =>
    'text' in json && (isOwn ? [200, 404] : [200, 404, 400]).includes(status) ? undefined : 'no such answer',
}
