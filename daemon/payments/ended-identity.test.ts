/** A payee whose identity has ended: it signs nothing, and asks the hub for what it has signed. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { SettlementReceipt, settlementKinds } from '../../protocol/proof/payment.ts'
import { DAY_MS } from '../testing/node.ts'
import { PaidWorld, type PayingNode, PRICE } from '../testing/paying.ts'

let world: PaidWorld
let alice: PayingNode
let bob: PayingNode

beforeEach(async () => {
  world = new PaidWorld()
  ;({ alice, bob } = await world.paid())
})
afterEach(() => world[Symbol.asyncDispose]())

/** The identity of bob ends, and the hub hears of it. */
function ends(): void {
  const { identity, keys } = bob.node.ctx
  identity.deactivate(world.clock.ms)
  bob.node.hub.list(identity.log, keys.ensureSet(identity.log, identity.seed, { bytes: 1024, perDay: 5 }))
}
async function looks(times = 3): Promise<void> {
  for (let n = 0; n < times; n++) {
    world.pass(600_000)
    await bob.payee.look()
  }
}
const signed = () => bob.node.ctx.chain.position[0]
const kindOf = (id: string) =>
  SettlementReceipt.decode(bob.payment(id)?.endReceipt ?? new Uint8Array()).body.kind

describe('after the end of its identity a payee', () => {
  test('gets the receipt of an order that was carried out and whose answer was lost', async () => {
    const id = await world.answered(alice, bob)
    world.post.ledger.next('endHold', { kind: 'lost_after' })
    await bob.payee.look()
    expect(bob.payment(id)).toMatchObject({ state: 'ending' })
    ends()
    const before = signed()
    await looks()
    expect(bob.payment(id)).toMatchObject({ state: 'ended', moved: PRICE, problem: null })
    expect([kindOf(id), signed()]).toEqual([settlementKinds.captured, before])
  })

  test('leaves an order open that was not carried out, with its reason, and learns that the hold lapsed', async () => {
    const id = await world.answered(alice, bob)
    world.post.ledger.next('endHold', { kind: 'lost_before' })
    await bob.payee.look()
    ends()
    const before = signed()
    await looks()
    expect(bob.payment(id)).toMatchObject({ state: 'ending', problem: 'refused' })
    world.pass(9 * DAY_MS)
    await looks()
    expect(bob.payment(id)).toMatchObject({ state: 'ended', moved: 0, problem: null })
    expect([kindOf(id), signed()]).toEqual([settlementKinds.returned, before])
  })

  test('learns that a hold which it never ended has lapsed', async () => {
    const id = await world.held(alice, bob)
    ends()
    await looks()
    expect(bob.payment(id)).toMatchObject({ state: 'held' })
    world.pass(9 * DAY_MS)
    await looks()
    expect(bob.payment(id)).toMatchObject({ state: 'ended', moved: 0 })
  })
})
