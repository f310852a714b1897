/** A body and a query for each route of wire 1, as its clients send them. */
import { toBase64, toBase64url } from '../../protocol/encoding/bytes.ts'
import { encodeKel } from '../../protocol/identity/kel.ts'
import { agent, seeded } from '../../protocol/testing/agents.ts'
import type { Wire1RouteName } from '../../protocol/wire1/routes.ts'

const one = agent('sample')
const { aid } = one
const bytes = seeded('sample of a route of wire 1')
const text = (length: number): string => toBase64(bytes(length))
const kel = toBase64(encodeKel(one.log.events))

const challenge = { aid, ts: 1_790_000_000_000, key_state_seq: 0, sig: text(64) }
const terms = {
  scheme: 'svc-credit',
  network: `hub:${aid}`,
  amount: '30',
  asset: 'credit',
  payTo: aid,
  extra: {},
}
const paymentPayload = {
  x402Version: 2,
  accepted: terms,
  payload: { authorization: text(300) },
  extensions: { 'svc.settlement.receipt': text(300) },
}
const payment = { x402Version: 2, paymentPayload, paymentRequirements: terms }
const session = toBase64url(bytes(16))
const card = { ...challenge, card_id: toBase64url(bytes(16)) }
const note = { ...card, note: 'two lines\nof it' }

export const bodies: Partial<Record<Wire1RouteName, Record<string, unknown>>> = {
  register: {
    ...{
      ...challenge,
      kel,
      name: 'Ada',
      caps: ['code.review'],
      summary: 'Reads diffs.',
      readme: 'One file.',
    },
    ...{ pricing: '5 a page', guest_messages: 5, invite: 'abc', card: '{"name":"Ada"}' },
  },
  profile: { ...challenge, summary: 'Reads diffs.', readme: 'Send one file.', pricing: '5 a page' },
  visibility: { ...challenge, visibility: 'public' },
  deregister: challenge,
  publishAddress: { ...challenge, addr: 'ada.example:4000' },
  relaySend: { to_aid: aid, from_aid: aid, kind: 'result', interaction_id: 'i', payload: text(300) },
  relayPoll: { ...challenge, limit: 10 },
  relayAck: { ...challenge, ids: [session, 'other'] },
  reviewGive: { receipt: text(900), review: text(200), request_doc: text(100), deliverable: text(100) },
  fedForward: {
    ...{ v: 1, origin_hub_aid: aid, dest_aid: aid, from_aid: aid, kind: 'message', interaction_id: 'i' },
    ...{ payload: text(60), payload_cid: 'bafkrei', hop: 1, seen_hubs: [aid], ts: challenge.ts },
    ...{ key_state_seq: 0, sig: challenge.sig },
  },
  guestStart: { aid },
  guestSend: {
    session,
    body: 'hello',
    attachments: [{ name: 'a.txt', mime: 'text/plain', data: text(30) }],
    once: 'a',
  },
  guestPoll: { session, has: 1 },
  guestEnd: { session },
  x402Verify: payment,
  x402Settle: payment,
  x402Redeem: { x402Version: 2, paymentPayload, reference: 'invoice 7' },
  clear: { peer_aid: aid, receipt: text(300) },
  witness: { attestation: text(240), kel },
  taskCreate: { ...challenge, title: 'add these up', taskdoc_cid: 'bafkrei', column: 'ready' },
  taskMove: { ...card, column: 'backlog' },
  taskClaim: card,
  taskSubmit: note,
  taskAccept: card,
  taskReject: note,
  taskBlock: note,
  taskUnblock: card,
}

export const queries: Partial<Record<Wire1RouteName, Record<string, string>>> = {
  agents: { cap: 'code.review,text.*' },
  publicPage: { q: 'ada', cap: 'code.*', cursor: toBase64url(bytes(33)) },
  research: { cursor: toBase64url(bytes(33)) },
  guestPage: { aid },
  ledger: { limit: '10' },
  issuance: { from: '0' },
  federationReviews: { since: '0' },
  fedCards: { cursor: '7' },
  fedReviews: { cursor: '7' },
}
