/** A provider that was restored to before the end of a hold, which a copy that is lost has ended. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { HOUR_MS } from '../testing/node.ts'
import { PaidWorld, type PayingNode, PRICE } from '../testing/paying.ts'

let world: PaidWorld
let alice: PayingNode
let bob: PayingNode
let id: string
let archive: string
let madeAtMs: number

beforeEach(async () => {
  world = new PaidWorld()
  ;({ alice, bob } = await world.paid())
  id = await world.authorized(alice, bob)
  await world.turns()
  expect(bob.payment(id)?.state).toBe('held')
  archive = world.archive(bob.node)
  madeAtMs = world.clock.ms
  world.pass(HOUR_MS)
})
afterEach(async () => {
  await Promise.all([alice.stop(), bob.stop()])
  await world[Symbol.asyncDispose]()
})

async function restored(): Promise<void> {
  await bob.stop()
  bob = world.pays(await world.restore(bob.node, archive, madeAtMs))
  world.post.ledger.asked.length = 0
  await bob.payee.look()
}

test('is over by the receipt of the hub, which is asked and given no order', async () => {
  bob.node.say(id, 'roses are red')
  await world.turns()
  expect(bob.payment(id)).toMatchObject({ state: 'ended', moved: PRICE })
  await restored()
  await expect.poll(() => bob.payment(id)).toMatchObject({ state: 'ended', moved: PRICE })
  expect(bob.payment(id)?.endReceipt).not.toBeNull()
  const asked = world.post.ledger.asked.filter(({ by }) => by === bob.node.aid)
  expect(asked.map(({ operation }) => operation)).toEqual(['endOf'])
  const recorded = bob.node.ctx.chain.read({ eventType: 'svc.payment.settled' })
  expect(recorded.at(-1)).toMatchObject({ payload: { interaction_id: id, amount: PRICE } })
})

test('stays held where the hub holds it still, and is asked about again', async () => {
  await restored()
  await expect.poll(() => bob.payment(id)?.tries).toBe(1)
  expect(bob.payment(id)).toMatchObject({ state: 'held', problem: null })
  expect(bob.payment(id)?.nextAt).toBeGreaterThan(world.clock.ms)
  bob.node.askNumbers()
  await world.turns()
  bob.node.say(id, 'roses are red')
  await world.turns()
  expect(bob.payment(id)).toMatchObject({ state: 'ended', moved: PRICE })
})
