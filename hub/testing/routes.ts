/** For tests: for each route of wire 3 a body that it accepts, and its request as the table says it. */

import { callBody, callPath } from '../../protocol/contract/client.ts'
import type { RouteRow } from '../../protocol/contract/route.ts'
import { contentId } from '../../protocol/crypto/hash.ts'
import { xwingPublicKey } from '../../protocol/crypto/xwing.ts'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { ClearingStatement } from '../../protocol/proof/clearing.ts'
import { networkOf, SettlementReceipt } from '../../protocol/proof/payment.ts'
import { type Wire3RouteName, wire3Routes } from '../../protocol/wire3/routes.ts'
import { DAY_MS } from '../core/limits.ts'
import { cardOf } from './cards.ts'
import { type Reply, random, request, TestAgent, type TestHub } from './hub.ts'
import { order, payment, redemption } from './payments.ts'
import { reviewUpload } from './reviews.ts'
import { statementOf } from './witnesses.ts'

export const rows = Object.entries(wire3Routes) as [Wire3RouteName, RouteRow][]

const id = (): string => toBase64url(random(16))
const bodies: Partial<Record<Wire3RouteName, (agent: TestAgent) => Record<string, unknown>>> = {
  relaySession: () => ({ epk: toBase64url(xwingPublicKey(random(32))) }),
  relayPoll: () => ({ limit: 1, after_id: 0 }),
  relayAck: () => ({ items: [{ id: 1 }] }),
  relayStatus: () => ({ items: [{ rid: id(), handle: id() }] }),
  mailboxRevoke: () => ({ cap_ids: [id()] }),
  register: agent => ({
    aid: agent.aid,
    kel: agent.kel,
    name: 'name',
    caps: ['paint.wall'],
    summary: 'summary',
    readme: 'readme',
    enc_keys: agent.makeKeys(),
    prev_seq: 1,
    pow: { seed: toBase64url(random(32)), nonce: toBase64url(random(8)) },
    check_only: true,
  }),
  publishKeys: agent => ({ keys: agent.makeKeys({ setSeq: 2 }), prev_seq: 1 }),
  pushKel: agent => ({ aid: agent.aid, kel: agent.kel }),
  directoryBucket: () => ({ prefix: '', bits: 0, cursor: toBase64url(random(32)) }),
  fedBucket: () => ({ prefix: '', bits: 0, cursor: toBase64url(random(32)) }),
  fedSettle: agent => samplePayment(agent),
  fedClear: agent => ({ due: 0, restored: 1, lost_since: 1, ...proofsOfNothing(agent) }),
  fedStatus: () => ({ items: [{ rid: id(), handle: id() }] }),
  updateProfile: () => ({ name: 'name', caps: ['paint.wall'], summary: 'summary', readme: 'readme' }),
  setVisibility: () => ({ visibility: 'public' }),
  uploadReview: agent => reviewUpload(agent, new TestAgent(agent.target)),
  deregister: () => ({}),
  x402Verify: agent => samplePayment(agent),
  x402Settle: agent => samplePayment(agent),
  x402Redeem: agent => redemption(agent, 1, 'reference').request,
  x402Capture: agent => order(agent, payment(agent, agent, 1), 1),
  witness: agent => statementOf(agent),
  x402Release: agent => order(agent, payment(agent, agent, 1), 0),
}

const samplePayment = (agent: TestAgent): Record<string, unknown> => payment(agent, agent, 1).request

/** Well-formed, of a hub that nobody knows. */
function proofsOfNothing({ aid, seed, target }: TestAgent): Record<string, string> {
  const receipt = SettlementReceipt.sign(seed, {
    ...{
      v: 1 as const,
      kind: 0 as const,
      payer: aid,
      payee: aid,
      amount: 1,
      hub: aid,
      hubKelSeq: 0,
      peer: target.aid,
    },
    ...{ transaction: contentId(random(8)), network: networkOf(aid), settledAt: target.clock.now() },
    supplyHead: [0, contentId(random(8))],
  })
  const statement = ClearingStatement.sign(seed, {
    ...{ v: 1, creditor: aid, creditorKelSeq: 0, debtor: target.aid, amount: 1 },
    ...{ reference: 'transfer', number: 1, at: target.clock.now() },
  })
  return {
    receipt: toBase64url(SettlementReceipt.encode(receipt)),
    statement: toBase64url(ClearingStatement.encode(statement)),
  }
}

const queries: Partial<Record<Wire3RouteName, Record<string, string>>> = {
  checkpoint: { newest: 'true' },
  checkpointConsistency: { old: '1', size: '1' },
  checkpointInclusion: { seq: '0', size: '1' },
  agents: { cap: 'paint.wall', limit: '10' },
  a2aAgents: { q: 'text', skill: 'paint', tag: 'wall', limit: '10' },
  agentPage: {},
  publicPage: { q: 'text', cap: 'paint.wall' },
  ledger: { limit: '10', before: '100' },
  redemptions: { limit: '10', before: '100' },
  authorizations: { limit: '10', before: '100' },
  fedCards: { cursor: '0' },
  fedReviews: { cursor: '0' },
  issuance: { from: '0', limit: '10' },
  witnessed: { from: '0', limit: '10' },
}

/** A body with all members that its route takes. */
export const sampleBody = (name: Wire3RouteName, agent: TestAgent): Record<string, unknown> =>
  bodies[name]?.(agent) ?? {}

/** A query with all members that its route takes, but for a cursor, which a hub gives. */
export function sampleQuery(name: Wire3RouteName, { target }: TestAgent): Record<string, string> {
  if (name === 'liabilityProof') return { day: String(Math.floor(target.clock.now() / DAY_MS) - 1) }
  return queries[name] ?? {}
}

export const pathOf = (row: RouteRow, agent: TestAgent): string =>
  callPath(row, { params: { aid: agent.aid, capability: 'any' } })

/** An agent's card, for rows that show one. */
export const cardBody = (agent: TestAgent): Record<string, unknown> => ({
  aid: agent.aid,
  kel: agent.kel,
  a2a_card: cardOf(agent),
})

/** The sample body of a row as bytes. */
export const bodyOf = (name: Wire3RouteName, agent: TestAgent): Uint8Array =>
  callBody(wire3Routes[name], sampleBody(name, agent))

export type Changes = {
  body?: Uint8Array
  headers?: Record<string, string>
  sign?: { action?: string; hub?: string; ts?: number; by?: TestAgent } | 'none'
  /** The path with its query, where it isn't the row's own. */
  path?: string
}

const peers = new WeakMap<object, TestAgent>()

/** A hub that the hub of an agent lists as its peer from here on; another process lists none. */
export function peerOf({ target }: TestAgent): TestAgent {
  if (!('running' in target)) return new TestAgent(target)
  const { running } = target as TestHub
  const known = peers.get(running) ?? new TestAgent(target)
  peers.set(running, known)
  running.hub.context.peers.replace([{ aid: known.aid, url: 'http://127.0.0.1:1', log: known.log }])
  return known
}

/** Sends the request of a row about an agent, signed where the row is, with what a test changes in it. */
export async function sendRow(name: Wire3RouteName, agent: TestAgent, changes: Changes = {}): Promise<Reply> {
  const row: RouteRow = wire3Routes[name]
  const path = changes.path ?? pathOf(row, agent)
  const bytes = changes.body ?? bodyOf(name, agent)
  const sign = changes.sign ?? {}
  const {
    by = row.signedBy === 'hub' ? peerOf(agent) : agent,
    action = row.action ?? '',
    ...given
  } = sign === 'none' ? {} : sign
  const signed =
    row.auth === 'signed' && sign !== 'none' ? by.sign(action, row.method, path, bytes, given) : {}
  const type: Record<string, string> = row.raw === undefined ? {} : { 'Content-Type': row.raw }
  return await request(agent.target.url + path, row.method, {
    ...(row.method === 'GET' ? {} : { body: bytes }),
    headers: { ...type, ...signed, ...changes.headers },
  })
}
