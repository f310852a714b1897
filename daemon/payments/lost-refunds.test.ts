/** A refund that a lost copy ordered is counted once, by a receipt that holds, at the hub in whose credits it is. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { contentId } from '../../protocol/crypto/hash.ts'
import { Authorization, networkOf } from '../../protocol/proof/payment.ts'
import { keepLostOrder } from '../store/lost-orders.ts'
import { givenBack, type PaymentRow } from '../store/payments.ts'
import { PaidWorld, PayingNode, PRICE } from '../testing/paying.ts'
import { homeOnly } from './accounts.ts'
import { paymentParts } from './parts.ts'

const PART = 2

let world: PaidWorld
let alice: PayingNode
let bob: PayingNode
let id: string

beforeEach(async () => {
  world = new PaidWorld()
  ;({ alice, bob } = await world.paid())
  id = await world.answered(alice, bob)
  await world.turns(3)
  expect(bob.payment(id)).toMatchObject({ state: 'ended', moved: PRICE })
})
afterEach(() => world[Symbol.asyncDispose]())

const signal = () => AbortSignal.timeout(1000)
const row = (by = bob) => by.payment(id) as PaymentRow
const back = () => givenBack(bob.node.ctx.store, row().payment)
const records = () =>
  bob.node.ctx.chain
    .read({ eventType: 'svc.payment.settled' })
    .filter(({ payload }) => (payload as { amount?: number }).amount === PART).length
const compare = () => paymentParts(bob.node.ctx).comparison.compare(bob.node.hub, signal())

/** Bob goes on from a backup, after which a copy of him that is lost gave something back. */
async function restored(): Promise<void> {
  const [archive, madeAtMs] = [world.archive(bob.node), world.clock.ms]
  const { ctx, hub } = bob.node
  const { ownRefunds } = paymentParts(ctx)
  const prepared = bob.node.within(() => ownRefunds.prepare(bob.node.thread(id), PART))
  const given = { prepared, renew: () => prepared, signal: signal() }
  await ownRefunds.settle(hub, bob.node.thread(id), given)
  await bob.stop()
  const node = await world.restore(bob.node, archive, madeAtMs)
  bob = new PayingNode(node, homeOnly(node.ctx.hub))
}

test('by a receipt that does not hold it is not counted, and is asked for again', async () => {
  await restored()
  world.post.ledger.next('settle', { kind: 'forge', in: 'signature' })
  await compare()
  expect([back(), records()]).toEqual([0, 0])
  await compare()
  expect([back(), records()]).toEqual([PART, 1])
})

test('by two questions at once it is counted once', async () => {
  await restored()
  await Promise.all([compare(), compare()])
  expect([back(), records()]).toEqual([PART, 1])
})

test.each([
  ['is in credits of another hub', 'bob', () => ({ network: networkOf(alice.node.aid) })],
  ['names no payment that is known here', 'bob', () => ({ refundOf: contentId(Uint8Array.of(1)) })],
  ['names none at all', 'bob', () => ({ refundOf: undefined })],
  ['names a payment of this node itself', 'alice', () => ({})],
] as const)('an order that %s is asked for at no hub', async (_, by, wrong) => {
  await restored()
  const { node } = by === 'bob' ? bob : alice
  const { signer, lostOrders } = paymentParts(node.ctx)
  const terms = { payTo: world.post.log.aid, amount: PART, network: world.network, refundOf: row().payment }
  const authorization = Authorization.encode(signer.sign({ ...terms, ...wrong() } as never))
  const order = { seq: 1, at: world.clock.ms, reason: 'refund', counterparty: null, authorization }
  node.within(() => node.ctx.store.run('DELETE FROM lost_orders'))
  node.within(() => keepLostOrder(node.ctx.store, { id: 'b1', ...order }))
  world.post.ledger.asked.length = 0
  await lostOrders.at(node.hub, [], signal())
  expect(world.post.ledger.asked.filter(({ operation }) => operation === 'settle')).toEqual([])
})
