/**
 * A challenge of wire 1 holds as often as it is shown, and most other requests are signed by nobody. So each request that
 * may write is sent twice, to the byte, and the whole store is compared before and after the second.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { RouteRow } from '../../protocol/contract/route.ts'
import { fromBase64url, toBase64, toBase64url } from '../../protocol/encoding/bytes.ts'
import { encodeKel } from '../../protocol/identity/kel.ts'
import { networkOf, SettlementReceipt } from '../../protocol/proof/payment.ts'
import { type Wire1RouteName, wire1Routes } from '../../protocol/wire1/routes.ts'
import { plainCard } from '../testing/cards.ts'
import { random, startTestHub, type TestHub } from '../testing/hub.ts'
import { listOpenPeer, MadeUpHub, openCardText } from '../testing/open-peers.ts'
import { openReviewUpload } from '../testing/open-reviews.ts'
import { payment, redemption } from '../testing/payments.ts'
import { differences, readStored } from '../testing/stored.ts'
import { inBase64, OpenAgent, paymentHeader, Wire1Client, type Wire1Reply } from '../testing/wire1.ts'
import { namedWitness, statementAt } from '../testing/witnesses.ts'

/** Beyond it a poll is noted anew. */
const LATER_MS = 61_000
const PEER_OWES_MAX = 100

let hub: TestHub
let client: Wire1Client
let peer: MadeUpHub
let payers: TestHub
let alice: OpenAgent
let bob: OpenAgent
beforeAll(async () => {
  hub = await startTestHub({ wires: [1], guests: true, wire1Federation: { tells: true } })
  client = new Wire1Client(hub)
  peer = new MadeUpHub(hub.clock.now())
  // it answers nothing, so that the hub stores nothing of it meanwhile
  await listOpenPeer(hub, { url: 'http://127.0.0.1:1', log: peer.log })
  payers = await startTestHub()
  const kel = toBase64url(encodeKel(payers.running.hub.context.identity.kel.events))
  await hub.running.order({ command: 'peers', add: { url: payers.url, kel } })
  await hub.running.order({ command: 'peers', limit: { aid: payers.aid, credits: PEER_OWES_MAX } })
})
afterAll(async () => {
  await payers.close()
  await hub.close()
})
beforeEach(async () => {
  alice = await client.registered({ name: 'alice' })
  bob = await client.registered({ name: 'bob' })
})

type Sent = {
  path?: string
  body?: Record<string, unknown>
  headers?: Record<string, string>
}
type Case = {
  make: () => Sent | Promise<Sent>
  /** Status of the repeat, where it is not the first one. */
  again?: number
  /** It writes nothing, also the first time. */
  reads?: true
  /** What the repeat may change, and why that does no harm. */
  changes?: { places: string[]; because: string }
}

const signed = (agent: OpenAgent, name: Wire1RouteName, members: Record<string, unknown> = {}): Sent => {
  const { action = '' }: RouteRow = wire1Routes[name]
  return { body: { ...agent.sign(action, { ts: nextTime() }), ...members } }
}
/** Times of one agent at one card rise. */
let lastMs = 0
function nextTime(): number {
  lastMs = Math.max(lastMs + 1, hub.clock.now())
  return lastMs
}

/** Every write of an agent is counted, by which two at once do not overwrite each other; nobody is told the number. */
const counted = { places: ['agent.version'], because: 'the row is written again as it was' }

const mail = (more: Record<string, unknown> = {}) => ({
  ...{ to_aid: bob.aid, from_aid: alice.aid, kind: 'message', interaction_id: 'i', payload: 'AA==' },
  ...more,
})
function newcomer(more: Record<string, unknown>): Sent {
  const agent = new OpenAgent(client)
  const card = openCardText(agent, 1)
  return { body: { ...agent.sign('register'), kel: agent.kel, name: 'carol', card, ...more } }
}
async function session(): Promise<string> {
  const { json } = await client.post('/guest/start', { aid: bob.aid })
  return String(json['session'])
}
async function talking(): Promise<string> {
  const id = await session()
  await client.post('/guest/send', { session: id, body: 'hello' })
  return id
}

/** A card that went so far; its creator is alice, its assignee bob. */
async function card(...actions: Wire1RouteName[]): Promise<string> {
  const made = await post('taskCreate', signed(alice, 'taskCreate', { title: 'add', column: 'ready' }))
  const { id } = made.json['card'] as { id: string }
  for (const name of actions) await post(name, signed(bob, name, { card_id: id }))
  return id
}
const onCard = (agent: OpenAgent, name: Wire1RouteName, id: string, more: object = {}) =>
  signed(agent, name, { card_id: id, ...more })

/** Its peer says that it owes this hub. */
function owed(): Sent {
  const { identity } = payers.running.hub.context
  const receipt = SettlementReceipt.sign(identity.seed, {
    ...{ v: 1, transaction: Uint8Array.from([1, 0x55, 0x12, 0x20, ...random(32)]), kind: 0 },
    ...{ payer: alice.aid, payee: bob.aid, amount: 30, network: networkOf(payers.aid) },
    ...{ settledAt: hub.clock.now(), hub: payers.aid, hubKelSeq: 0, peer: hub.aid },
    supplyHead: [0, payers.running.hub.supply.head.id],
  })
  return { body: { peer_aid: payers.aid, receipt: toBase64(SettlementReceipt.encode(receipt)) } }
}

/** A use of what a card sells, and its payment. */
async function sold(): Promise<Sent> {
  const seller = new OpenAgent(client)
  const redeem = { url: 'https://bob.example/redeem', protocolBinding: 'x402-redeem', protocolVersion: '2' }
  const prices = [{ capability: 'text.count', amount: 5 }]
  const offer = openCardText(seller, 1, {
    supportedInterfaces: [...plainCard.supportedInterfaces, redeem],
    capabilities: { extensions: [{ uri: 'svc.pricing', params: { prices } }] },
  })
  await hub.running.order({ command: 'admit', aid: seller.aid })
  expect((await seller.register({ card: offer })).status).toBe(200)
  return {
    path: `/x402/resource/${seller.aid}/text.count`,
    headers: { 'PAYMENT-SIGNATURE': paymentHeader(payment(alice, seller, 5)) },
  }
}

/** Every request that may write. */
const cases: Partial<Record<Wire1RouteName, Case>> = {
  register: {
    async make() {
      const make = { days: 1 }
      const { code } = (await hub.running.order({ command: 'invites', make })) as { code: string }
      return newcomer({ invite: code, guest_messages: 3, pricing: '5 a page' })
    },
    changes: counted,
  },
  profile: {
    make: () => signed(bob, 'profile', { summary: 'paints', readme: 'walls', pricing: '5' }),
    changes: counted,
  },
  visibility: {
    async make() {
      expect((await bob.register({ card: openCardText(bob, 1) })).status).toBe(200)
      return {
        ...signed(bob, 'visibility', { visibility: 'federated' }),
        path: `/agents/${bob.aid}/visibility`,
      }
    },
    changes: counted,
  },
  deregister: {
    make: () => ({ ...signed(bob, 'deregister'), path: `/agents/${bob.aid}/deregister` }),
    again: 401,
  },
  publishAddress: {
    make: () => ({
      ...signed(bob, 'publishAddress', { addr: 'bob.example:4000' }),
      path: `/agents/${bob.aid}/p2p`,
    }),
    changes: counted,
  },
  relaySend: {
    make: () => ({ body: mail({ kind: 'result' }) }),
    changes: {
      places: ['+open_message', 'open_mailbox.bytes', 'open_mailbox.messages', 'open_totals.bytes'],
      because: 'nobody signs a send: its recipient tells a repeat by the number that its sender signed',
    },
  },
  relayPoll: {
    async make() {
      await client.post('/relay/send', mail())
      return signed(bob, 'relayPoll')
    },
    changes: { places: ['open_mailbox.polled_ms'], because: 'a poll is the sign of life' },
  },
  relayAck: {
    async make() {
      for (let n = 0; n < 2; n++) await client.post('/relay/send', mail())
      const { json } = await bob.poll()
      const [first] = json['messages'] as { id: string }[]
      return signed(bob, 'relayAck', { ids: [first?.id] })
    },
  },
  reviewGive: { make: () => ({ body: openReviewUpload(alice, bob) }), again: 400 },
  fedForward: {
    make: () => ({ body: peer.record({ aid: bob.aid, nowMs: hub.clock.now() }, 'hello') }),
    again: 200,
  },
  guestStart: { make: () => ({ body: { aid: bob.aid } }), reads: true },
  guestSend: {
    make: async () => ({ body: { session: await talking(), body: 'and another thing', once: 'a' } }),
  },
  guestPoll: { make: async () => ({ body: { session: await talking() } }), reads: true },
  guestEnd: { make: async () => ({ body: { session: await talking() } }) },
  x402Verify: { make: () => ({ body: inBase64(payment(alice, bob, 30)) }), reads: true },
  x402Settle: { make: () => ({ body: inBase64(payment(alice, bob, 30)) }) },
  x402Redeem: { make: () => ({ body: inBase64(redemption(alice, 30, 'invoice')) }) },
  gateway: { make: sold },
  clear: { make: owed },
  witness: {
    async make() {
      const { attestation, kel } = statementAt(hub, await namedWitness(hub, 'https://witness.example'))
      const again = (text: string) => toBase64(fromBase64url(text))
      return { body: { attestation: again(attestation), kel: again(kel) } }
    },
  },
  taskCreate: { make: () => signed(alice, 'taskCreate', { title: 'add these up', column: 'ready' }) },
  taskMove: { make: async () => onCard(alice, 'taskMove', await card(), { column: 'backlog' }) },
  taskClaim: { make: async () => onCard(bob, 'taskClaim', await card()) },
  taskSubmit: { make: async () => onCard(bob, 'taskSubmit', await card('taskClaim'), { note: 'done' }) },
  taskAccept: { make: async () => onCard(alice, 'taskAccept', await card('taskClaim', 'taskSubmit')) },
  taskReject: {
    make: async () => onCard(alice, 'taskReject', await card('taskClaim', 'taskSubmit'), { note: 'no' }),
  },
  taskBlock: { make: async () => onCard(bob, 'taskBlock', await card('taskClaim'), { note: 'stuck' }) },
  taskUnblock: { make: async () => onCard(bob, 'taskUnblock', await card('taskClaim', 'taskBlock')) },
}

async function post(name: Wire1RouteName, { path, body, headers }: Sent): Promise<Wire1Reply> {
  const row: RouteRow = wire1Routes[name]
  return await client.ask(row.method, path ?? row.path, body, headers)
}

const writing = (Object.entries(wire1Routes) as [Wire1RouteName, RouteRow][])
  .filter(([name, { method }]) => method !== 'GET' || name === 'gateway')
  .map(([name]) => name)

test('every route that may write has a case, and no other', () => {
  expect(Object.keys(cases).sort()).toEqual([...writing].sort())
})

describe('the very same request again', () => {
  test.each(writing)('of %s does no harm', async name => {
    const { make, again, reads, changes } = cases[name] as Case
    const sent = await make()
    const untouched = readStored(hub.directory)
    const first = await post(name, sent)
    expect(first.status, JSON.stringify(first.json)).toBeOneOf([200, 202])
    const before = readStored(hub.directory)
    expect(differences(untouched, before).length > 0).toBe(reads !== true)
    hub.clock.advance(LATER_MS)
    const second = await post(name, sent)
    expect(second.status).toBe(again ?? first.status)
    expect(differences(before, readStored(hub.directory))).toEqual(changes?.places ?? [])
  })
})
