/** Every call of a node to a hub of wire 1, and a real hub at which each of them has an answer. */
import type { HubClient, RegisterRequest } from '../../daemon/hubs/hub.ts'
import { meetHub } from '../../daemon/hubs/open.ts'
import { startTestHub } from '../../hub/testing/hub.ts'
import { openCardText } from '../../hub/testing/open-peers.ts'
import { openReviewUpload } from '../../hub/testing/open-reviews.ts'
import { grant, payment, redemption } from '../../hub/testing/payments.ts'
import { Wire1Client } from '../../hub/testing/wire1.ts'
import { cardActions } from '../../protocol/contract/board.ts'
import { fromBase64 } from '../../protocol/encoding/bytes.ts'
import { Authorization, networkOf } from '../../protocol/proof/payment.ts'
import type { Quote } from '../../protocol/proof/quote.ts'
import { never, openNode } from '../open-mail/node.ts'

const REFERENCE = 'invoice 7'
const CREDITS = 100

/** A node at a hub, and what it gives in its calls. */
export type World = Awaited<ReturnType<typeof openWorld>>

export async function openWorld() {
  const hub = await startTestHub({ wires: [1] })
  const client = new Wire1Client(hub)
  const node = await openNode(hub)
  const [agent, other] = [await client.registered(), await client.registered()]
  await other.register({ card: openCardText(other, 1) })
  const { log, aid, seed } = node.ground.identity
  await grant(hub, aid, CREDITS)
  const payer = { aid, seed, log, target: hub }
  const upload = openReviewUpload(agent, other)
  const card = await node.hub.board?.create({ title: 'add these up', column: 'ready' })
  const quote: Quote = {
    ...{ provider: other.aid, what: 'task', amount: 1, network: networkOf(hub.aid) },
    ...{ holdSeconds: undefined, settleSeconds: 60 },
  }
  return {
    ...{ node, quote, aid, other: other.aid, card: card?.id ?? '' },
    authorization: Authorization.encode(payment(payer, other, 1).authorization),
    redeemed: Authorization.encode(redemption(payer, 1, REFERENCE).authorization),
    review: {
      ...{ receipt: fromBase64(upload.receipt), review: fromBase64(upload.review) },
      ...{ request: fromBase64(upload.request_doc), deliverable: fromBase64(upload.deliverable) },
    },
    letter: { to: aid, from: aid, kind: 'message' as const, interaction: 'i', payload: new Uint8Array(500) },
    async close() {
      await node.close()
      await hub.close()
    },
  }
}

const profile: NonNullable<RegisterRequest['profile']> = {
  ...{ name: 'ada', caps: ['text.count'], summary: 'Counts.', readme: 'One text.', pricing: '5' },
}
const boardActs = cardActions.map(action => [
  `board.act ${action}`,
  (hub: HubClient, { card }: World) => hub.board?.act(action, { card, column: 'ready', note: 'so' }),
])

/** By name; none depends on an earlier one. */
export const calls: Record<string, (hub: HubClient, world: World) => Promise<unknown> | undefined> = {
  meet: async ({ url }, { node }) => (await meetHub(url, node.inputs, 1)).identity,
  refresh: hub => hub.refresh(true),
  checkAdmission: (hub, { node }) => hub.checkAdmission(node.ground.identity.log),
  register: (hub, { node }) => hub.register({ log: node.ground.identity.log, profile }),
  pushLog: (hub, { node }) => hub.pushLog(node.ground.identity.log),
  fetchLog: (hub, { other }) => hub.fetchLog(other),
  fetchAgent: (hub, { other }) => hub.fetchAgent(other),
  updateProfile: hub => hub.updateProfile(profile),
  setVisibility: hub => hub.setVisibility('public'),
  fetchCard: (hub, { other }) => hub.fetchCard(other),
  listAgents: hub => hub.listAgents({ limit: 2 }),
  'direct.advertise': hub => hub.direct?.advertise('agent.example:4001'),
  'direct.addressOf': (hub, { aid }) => hub.direct?.addressOf(aid),
  'openMail.send': (hub, { letter }) => hub.openMail?.send(letter, never),
  'openMail.poll': hub => hub.openMail?.poll(never),
  'openMail.ack': hub => hub.openMail?.ack(['a', 'b']),
  'openReviews.give': (hub, { review }) => hub.openReviews?.give(review),
  'openReviews.give, once more': (hub, { review }) => hub.openReviews?.give(review),
  'credits.account': hub => hub.credits.account(10, never),
  'credits.entriesAfter': hub => hub.credits.entriesAfter(0, never),
  'credits.networks': hub => hub.credits.networks(never),
  'credits.settle': (hub, { authorization, quote }) => hub.credits.settle(authorization, quote, never),
  'credits.endOf': (hub, { authorization, quote }) => hub.credits.endOf(authorization, quote, never),
  'credits.redeem': (hub, { redeemed }) => hub.credits.redeem(redeemed, REFERENCE, never),
  'credits.supplyRecords': hub => hub.credits.supplyRecords(0, never),
  'credits.witnessStatements': hub => hub.credits.witnessStatements(never),
  'board.cards': hub => hub.board?.cards(never),
  'board.card': (hub, { card }) => hub.board?.card(card, never),
  'board.card of nobody': hub => hub.board?.card('nobody', never),
  'board.create': hub => hub.board?.create({ title: 'add these up', column: 'ready' }),
  ...Object.fromEntries(boardActs),
  deregister: hub => hub.deregister(),
}
