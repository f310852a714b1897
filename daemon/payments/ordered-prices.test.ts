/** What a person orders to pay is paid once, in credits of the home, and what goes out unheard is asked about in time. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { AUTHORIZATION_LIFE_MAX_MS, networkOf } from '../../protocol/proof/payment.ts'
import { Waker } from '../platform/waker.ts'
import { quoteOf } from '../store/quotes.ts'
import { PaidWorld, type PayingNode } from '../testing/paying.ts'
import { OwnCredits } from './own-credits.ts'
import { paymentParts } from './parts.ts'

let world: PaidWorld
let alice: PayingNode
let bob: PayingNode

beforeEach(async () => {
  world = new PaidWorld()
  ;({ alice, bob } = await world.paid())
})
afterEach(() => world[Symbol.asyncDispose]())

/** A task that bob asked a price for, and nobody has paid. */
async function quoted(): Promise<string> {
  const { id } = alice.node.delegate(bob.node)
  await world.settle()
  await bob.calls.look()
  await world.settle()
  return id
}
const pay = (id: string) => alice.payer.pay(alice.node.thread(id))

test('a price is paid once, and none where no price was asked', async () => {
  const id = await quoted()
  expect(pay(id).id).not.toBe(id)
  expect(quoteOf(alice.node.ctx.store, alice.node.thread(id).key)?.state).toBe('paid')
  expect(() => pay(id)).toThrow('this task waits for no payment')
  const { id: other } = alice.node.delegate(bob.node)
  expect(() => pay(other)).toThrow('this task waits for no payment')
})

test('a price is in credits of the home, which has raised no alarm, or nobody can pay it', async () => {
  const { store, hub } = alice.node.ctx
  const credits = new OwnCredits(store, hub)
  const [own, other] = [{ network: world.network }, { network: networkOf(bob.node.aid) }]
  expect([credits.areAskedBy(own), credits.areAskedBy(other)]).toEqual([true, false])
  expect(credits.whyNotFor(own)).toBeUndefined()
  expect(credits.whyNotFor(other)).toMatch(/^the price is in credits of another hub/)
  const id = await quoted()
  alice.node.within(() => paymentParts(alice.node.ctx).alarms.raise(world.post.log.aid, 'it lies'))
  expect(credits.whyNotFor(own)).toBe('nothing is paid in credits of this hub: it lies')
  expect(() => pay(id)).toThrow('nothing is paid in credits of this hub: it lies')
  hub.leave()
  expect([credits.areAskedBy(own), credits.whyNotFor(own)]).toEqual([
    false,
    'this node is registered at no hub, so it has no credits',
  ])
})

test('a payment of which nothing was heard is asked about four minutes after its time, and is over', async () => {
  const id = await world.authorized(alice, bob)
  const { ctx, hub } = alice.node
  const ask = () => paymentParts(ctx).silent.ask(hub, AbortSignal.timeout(1000))
  world.clock.ms = (alice.payment(id)?.at ?? 0) + AUTHORIZATION_LIFE_MAX_MS + 4 * 60_000 - 1
  expect(await ask()).toEqual({ settled: [], lapsed: [] })
  world.pass(2)
  expect(await ask()).toEqual({ settled: [], lapsed: [id] })
  expect(alice.payment(id)).toMatchObject({
    state: 'refused',
    reason: 'nobody used the authorization in its time',
  })
  expect(await ask()).toEqual({ settled: [], lapsed: [] })
})

test('what judges receipts is woken by those that came, and by nothing else', async () => {
  await world.held(alice, bob)
  const { ctx, hub } = alice.node
  let woken = 0
  const spending = Object.assign(new Waker(ctx.timers), { wake: () => void woken++ })
  const { silent } = paymentParts({ ...ctx, wakers: { ...ctx.wakers, spending } })
  const ask = () => silent.ask(hub, AbortSignal.timeout(1000))
  await ask()
  expect(woken).toBe(0)
  world.pass(AUTHORIZATION_LIFE_MAX_MS + 5 * 60_000)
  expect((await ask()).settled).toHaveLength(1)
  expect(woken).toBe(1)
})

test('a payment that was made unheard is settled by the receipt of the hub, which is judged next', async () => {
  const id = await world.held(alice, bob)
  const { ctx, hub } = alice.node
  expect(alice.payment(id)).toMatchObject({ state: 'authorized', heldReceipt: null })
  world.pass(AUTHORIZATION_LIFE_MAX_MS + 5 * 60_000)
  expect(await paymentParts(ctx).silent.ask(hub, AbortSignal.timeout(1000))).toEqual({
    settled: [id],
    lapsed: [],
  })
  expect(alice.payment(id)?.heldReceipt).not.toBeNull()
})
