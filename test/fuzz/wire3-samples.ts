/** A body and a query for each route of wire 3, as agents send them. */
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { encodeKel } from '../../protocol/identity/kel.ts'
import { KeySet } from '../../protocol/identity/keyset.ts'
import { agent, seeded } from '../../protocol/testing/agents.ts'
import type { Wire3RouteName } from '../../protocol/wire3/routes.ts'

const one = agent('sample')
const bytes = seeded('sample of a route')
const text = (length: number): string => toBase64url(bytes(length))
const kel = toBase64url(encodeKel(one.log.events))
const keys = toBase64url(KeySet.encode(one.keySet))

const terms = {
  scheme: 'svc-credit',
  network: `hub:${one.aid}`,
  amount: '30',
  asset: 'credit',
  payTo: one.aid,
  maxTimeoutSeconds: 60,
  extra: { hold_s: 600 },
}
const paymentPayload = {
  x402Version: 2,
  resource: { url: 'https://hub.example/task', description: 'a task', tags: ['task'] },
  accepted: terms,
  payload: { authorization: text(300) },
  extensions: { 'payment-identifier': { info: { id: 'a' } } },
}
const payment = { x402Version: 2, paymentPayload, paymentRequirements: terms }

export const bodies: Partial<Record<Wire3RouteName, unknown>> = {
  relaySession: { epk: text(1216) },
  relayPoll: { limit: 10, after_id: 4 },
  relayAck: { items: [{ id: 1 }, { id: 2, handle: text(16), dack: text(540) }] },
  relayStatus: { items: [{ rid: text(16), handle: text(16) }] },
  mailboxRevoke: { cap_ids: [text(16), text(16)] },
  register: {
    aid: one.aid,
    kel,
    name: 'Ada',
    caps: ['code.review'],
    summary: 'Reads diffs.',
    readme: 'Send one file.',
    enc_keys: keys,
    prev_seq: 0,
    pow: { seed: text(32), nonce: text(8) },
    check_only: false,
  },
  publishKeys: { keys, prev_seq: 1 },
  pushKel: { aid: one.aid, kel },
  directoryBucket: { prefix: '', bits: 0 },
  fedBucket: { prefix: '', bits: 0, cursor: text(32) },
  fedSettle: payment,
  fedClear: { due: -3, restored: 5, lost_since: 4, receipt: text(300), statement: text(300) },
  fedStatus: { items: [{ rid: text(16), handle: text(16) }] },
  updateProfile: { name: 'Ada', caps: ['code.review'], summary: 'Reads diffs.', readme: 'Send one file.' },
  setVisibility: { visibility: 'public' },
  deregister: {},
  x402Verify: payment,
  x402Settle: payment,
  x402Redeem: { x402Version: 2, paymentPayload, reference: 'invoice 7' },
  x402Capture: { order: text(200) },
  x402Release: { order: text(200) },
  witness: { attestation: text(240), kel },
  uploadReview: { receipt: text(900), review: text(120), rsalt: text(32) },
}

export const queries: Partial<Record<Wire3RouteName, Record<string, string>>> = {
  agents: { cap: 'code.review,text.*', limit: '10', cursor: text(44) },
  a2aAgents: { skill: 'translate', tag: 'text', q: 'ada', limit: '10', cursor: text(44) },
  agentPage: {},
  publicPage: { q: 'ada', cap: 'code.*' },
  ledger: { limit: '10', before: '7' },
  redemptions: { limit: '10', before: '7' },
  authorizations: { limit: '10', before: '7' },
  liabilityProof: { day: '20600' },
  fedCards: { cursor: '7' },
  fedReviews: { cursor: '7' },
  issuance: { from: '0', limit: '10' },
  witnessed: { from: '0', limit: '10' },
  research: { cursor: text(44) },
}
