/** Wire 1 to be fuzzed: its requests as clients sign them in their bodies, and the statuses that its rows may answer. */
import { type Reply, random, startTestHub, type TestHub } from '../../hub/testing/hub.ts'
import { listOpenPeer, MadeUpHub, openCardText } from '../../hub/testing/open-peers.ts'
import { openReviewUpload } from '../../hub/testing/open-reviews.ts'
import { payment, redemption } from '../../hub/testing/payments.ts'
import { inBase64, type OpenAgent, paymentHeader, Wire1Client } from '../../hub/testing/wire1.ts'
import { callPath } from '../../protocol/contract/client.ts'
import type { RouteRow } from '../../protocol/contract/route.ts'
import { utf8 } from '../../protocol/encoding/bytes.ts'
import { type Failure, failures, fedLabels } from '../../protocol/wire1/failures.ts'
import { WIRE1, WIRE1_HEADER } from '../../protocol/wire1/headers.ts'
import { type Wire1RouteName, wire1Routes } from '../../protocol/wire1/routes.ts'
import type { FuzzLine } from './traffic.ts'
import { bodies, queries } from './wire1-samples.ts'
import { unbounded } from './wire3-line.ts'

const MESSAGES_MAX = 1e6

/** `leaver` is the agent that leaves next; `card` stands on the board, `session` is that of a visitor. */
type World = {
  hub: TestHub
  client: Wire1Client
  peer: MadeUpHub
  agent: OpenAgent
  other: OpenAgent
  leaver: OpenAgent
  card: string
}

const rows: Readonly<Record<string, RouteRow>> = wire1Routes
const fedErrors: readonly string[] = Object.values(fedLabels)
/** What every route may answer: what is no request of it, what is not there, and that there is no room. */
const COMMON: readonly Failure[] = ['malformed', 'too_new', 'unknown', 'failed']
const PRICED = 'text.count'

/** Members that make a body one that the route takes now. */
async function realMembers(name: string, { hub, client, peer, agent, other, card }: World): Promise<object> {
  const made: Partial<Record<Wire1RouteName, () => object | Promise<object>>> = {
    register: () => ({ kel: agent.kel, card: openCardText(agent, nextNumber()) }),
    relaySend: () => ({ to_aid: agent.aid }),
    reviewGive: () => openReviewUpload(agent, other),
    fedForward: () => peer.record({ aid: agent.aid, nowMs: hub.clock.now() }, `hello ${nextNumber()}`),
    guestStart: () => ({ aid: other.aid }),
    guestSend: async () => ({ session: await sessionWith(client, other) }),
    guestPoll: async () => ({ session: await sessionWith(client, other) }),
    guestEnd: async () => ({ session: await sessionWith(client, other) }),
    x402Verify: () => inBase64(payment(agent, other, 1)),
    x402Settle: () => inBase64(payment(agent, other, 1)),
    x402Redeem: () => inBase64(redemption(agent, 1, 'invoice 7')),
  }
  const isOnCard = name.startsWith('task') && name !== 'taskCreate'
  return (await made[name as Wire1RouteName]?.()) ?? (isOnCard ? { card_id: card } : {})
}

let numbers = 0
const nextNumber = (): number => ++numbers

/** One for many requests, because there are two thousand. */
const sessions = new WeakMap<Wire1Client, string>()
async function sessionWith(client: Wire1Client, { aid }: OpenAgent): Promise<string> {
  const held = sessions.get(client)
  if (held !== undefined) return held
  const { json } = await client.post('/guest/start', { aid })
  sessions.set(client, String(json['session']))
  return String(json['session'])
}

/** An agent that sells a use of a capability, with mail of its own. */
async function seller(client: Wire1Client): Promise<OpenAgent> {
  const agent = await client.registered({ guest_messages: 100 })
  const supportedInterfaces = ['JSONRPC', 'x402-redeem'].map(protocolBinding => ({
    ...{ url: 'https://bob.example/redeem', protocolBinding, protocolVersion: '1.0' },
  }))
  const prices = [{ capability: PRICED, amount: 1 }]
  const capabilities = { extensions: [{ uri: 'svc.pricing', params: { prices } }] }
  await agent.register({ card: openCardText(agent, nextNumber(), { supportedInterfaces, capabilities }) })
  return agent
}

export const wire1Line: FuzzLine<World> = {
  name: `wire ${WIRE1}`,
  health: '/healthz',
  rows,
  headers: [WIRE1_HEADER, 'PAYMENT-SIGNATURE', 'Origin'],
  always: { [WIRE1_HEADER]: String(WIRE1), 'Content-Type': 'application/json' },
  random: () => random(64),
  async start() {
    const limits = { ...unbounded, mailboxEnvelopesMax: MESSAGES_MAX }
    const hub = await startTestHub({ wires: [1], guests: true, wire1Federation: { tells: true }, limits })
    const client = new Wire1Client(hub)
    const peer = new MadeUpHub(hub.clock.now())
    await listOpenPeer(hub, { url: 'http://127.0.0.1:1', log: peer.log })
    const [agent, other, leaver] = [
      await client.registered(),
      await seller(client),
      await client.registered(),
    ]
    const created = await client.post('/tasks/create', {
      ...agent.sign('task.create'),
      title: 'a',
      column: 'ready',
    })
    const { id: card } = created.json['card'] as { id: string }
    return { hub, client, peer, agent, other, leaver, card }
  },
  async real(name, world) {
    const row = rows[name] as RouteRow
    const agent = name === 'deregister' ? world.leaver : world.agent
    const about = name === 'gateway' ? world.other : agent
    const params = { aid: about.aid, capability: PRICED, id: world.card }
    const path = callPath(row, { params, query: queries[name as Wire1RouteName] ?? {} })
    const paid = name === 'gateway' && { 'PAYMENT-SIGNATURE': paymentHeader(payment(agent, about, 1)) }
    if (row.method === 'GET') return { path, headers: { ...paid }, body: new Uint8Array(0) }
    const signed = row.auth === 'signed' ? agent.sign(row.action ?? '') : {}
    const members = { ...bodies[name as Wire1RouteName], ...(await realMembers(name, world)), ...signed }
    return { path, headers: {}, body: utf8(JSON.stringify(members)) }
  },
  async done(name, world) {
    if (name === 'deregister') world.leaver = await world.client.registered()
    if (name === 'guestEnd') sessions.delete(world.client)
  },
  judge(name, { status, json }: Reply, isOwn) {
    const row = rows[name] as RouteRow
    if (status === 200 || (status === 202 && name === 'fedForward')) return wrongReply(row, json, isOwn)
    if (status === 402 && name === 'gateway') return undefined
    if (status === 404 && row.produces === 'html' && 'text' in json) return undefined
    const known = [...COMMON, ...(row.codes as Failure[])].map(code => failures[code])
    if (isOwn && !known.includes(status as (typeof known)[number]))
      return 'a status that the row does not name'
    if (typeof json['error'] !== 'string') return 'no sentence'
    if (isOwn && row.errors === 'fed' && !fedErrors.includes(json['error'])) return 'no label'
    return undefined
  },
}

/** An answer has the shape that its row says. */
function wrongReply(
  { reply, produces }: RouteRow,
  json: Record<string, unknown>,
  isOwn: boolean,
): string | undefined {
  if (!isOwn || reply === undefined || produces !== undefined || 'text' in json) return undefined
  return reply.safeParse(json).success ? undefined : 'another reply than the row says'
}
