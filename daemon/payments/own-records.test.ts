/** What a node recorded of its own credits is read back as far as it was asked for, page by page. */

import { afterEach, beforeEach, expect, test } from 'vitest'
import { READ_LIMIT_MAX } from '../chain/chain.ts'
import { PaidWorld, type PayingNode, PRICE } from '../testing/paying.ts'
import { paymentParts } from './parts.ts'
import { takeRefund } from './refunds.ts'

let world: PaidWorld
let alice: PayingNode
let bob: PayingNode
beforeEach(async () => {
  world = new PaidWorld()
  ;({ alice, bob } = await world.paid())
})
afterEach(() => world[Symbol.asyncDispose]())

const write = (amount: number) =>
  alice.node.within(() =>
    alice.node.ctx.chain.append('svc.payment.authorized', {
      interaction_id: '',
      authorization_id: `b${amount}`,
      pay_to: bob.node.aid,
      amount,
      network: world.network,
    }),
  )
const amounts = (sinceMs: number) =>
  paymentParts(alice.node.ctx)
    .records.authorizedSince(sinceMs)
    .map(({ amount }) => amount)

test('records of more pages than one are read, and none before one that is older than was asked for', () => {
  alice.node.within(() => {
    write(1)
    world.pass(1000)
    for (let n = 0; n < READ_LIMIT_MAX; n++) write(n + 2)
  })
  const newestFirst = Array.from({ length: READ_LIMIT_MAX + 1 }, (_, n) => READ_LIMIT_MAX + 1 - n)
  const since = world.clock.ms
  expect([amounts(0), amounts(since)]).toEqual([newestFirst, newestFirst])
  expect(amounts(since + 1)).toEqual(newestFirst.slice(0, READ_LIMIT_MAX))
})

test('of what was paid, taken, returned and redeemed each side sees its own', async () => {
  const id = await world.answered(alice, bob)
  await world.turns(3)
  expect(bob.payment(id)).toMatchObject({ state: 'ended', moved: PRICE })
  const kindsOf = ({ node }: PayingNode, since = 0) =>
    paymentParts(node.ctx)
      .records.signedSince(world.post.log.aid, since)
      .map(({ kind, amount }) => [kind, amount])
  expect(new Set(kindsOf(alice).map(String))).toEqual(new Set([`paid,${PRICE}`]))
  expect(new Set(kindsOf(bob).map(String))).toEqual(new Set([`received,${PRICE}`]))
  const [{ atMs } = { atMs: 0 }] = paymentParts(alice.node.ctx).records.signedSince(world.post.log.aid, 0)
  expect([kindsOf(alice, atMs), kindsOf(alice, atMs + 1)]).toEqual([[['paid', PRICE]], []])
  expect([kindsOf(alice, world.clock.ms + 1), kindsOf(bob, world.clock.ms + 1)]).toEqual([[], []])
  expect(paymentParts(alice.node.ctx).records.signedSince(bob.node.aid, 0)).toEqual([])
  expect([...paymentParts(alice.node.ctx).records.redeemedBefore()]).toEqual([])
})

test('a refund is paid by the side that gave it, and received by the other', async () => {
  const id = await world.answered(alice, bob)
  await world.turns(3)
  const [given, signal] = [bob.node, AbortSignal.timeout(1000)]
  const [refunds, task] = [paymentParts(given.ctx).ownRefunds, given.thread(id)]
  const prepared = given.within(() => refunds.prepare(task, 2))
  await refunds.settle(given.hub, task, { prepared, renew: () => prepared, signal })
  const { ctx, hub } = alice.node
  alice.node.within(() =>
    takeRefund({ ...ctx, spending: ctx.wakers.spending }, alice.node.thread(id), prepared.encoded),
  )
  await paymentParts(ctx).takenRefunds.settle(hub, signal)
  const kindsOf = ({ node }: PayingNode) =>
    paymentParts(node.ctx)
      .records.signedSince(world.post.log.aid, 0)
      .flatMap(({ kind, amount }) => (amount === 2 ? [kind] : []))
  expect([kindsOf(bob), kindsOf(alice)]).toEqual([['paid'], ['received']])
})

test('a voucher that was taken counts from when it was paid at the earliest, at the hub that signed it', () => {
  const { ctx } = bob.node
  const taken = { voucher_id: 'v', auth_id: 'b1', payer: alice.node.aid, capability: 'a.b', amount: 3 }
  bob.node.within(() => ctx.chain.append('svc.voucher.redeemed', { ...taken, network: world.network }))
  const { records } = paymentParts(ctx)
  const hub = world.post.log.aid
  const [voucher] = records.signedSince(hub, 0)
  const atMs = world.clock.ms - 15 * 60_000
  expect(voucher).toEqual({ transaction: 'b1', atMs, amount: 3, kind: 'received' })
  const counts = [atMs, atMs + 1].map(since => records.signedSince(hub, since).length)
  expect([...counts, records.signedSince(alice.node.aid, 0).length]).toEqual([1, 0, 0])
})
