/** Only a receipt that the hub signed ends a hold in a node, whatever else happens to the question or to its answer. */

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { cidText } from '../../protocol/crypto/hash.ts'
import { balancesOf } from '../control/parts.ts'
import { HOUR_MS } from '../testing/node.ts'
import { GRANTED, PaidWorld, PayingNode, PRICE } from '../testing/paying.ts'
import type { Fault } from '../testing/scripted-credits.ts'
import { homeOnly } from './accounts.ts'
import { payeeOf } from './x402.ts'

const MINUTE_MS = 60_000

let world: PaidWorld
let alice: PayingNode
let bob: PayingNode

beforeEach(async () => {
  world = new PaidWorld()
  ;({ alice, bob } = await world.paid())
})
afterEach(() => world[Symbol.asyncDispose]())

const has = () => [alice, bob].flatMap(({ node }) => Object.values(world.post.ledger.balanceOf(node.aid)))
const settled = (by: PayingNode) =>
  by.node.ctx.chain.read({ eventType: 'svc.payment.settled' }).map(({ payload }) => payload)
const later = async (ms = 10 * MINUTE_MS) => {
  world.pass(ms)
  await world.turns(2)
}
const withdraw = (id: string) =>
  alice.node.within(() => alice.node.tasks.leaving.cancel(alice.node.thread(id), 'no longer wanted'))

const TAKEN = [GRANTED - PRICE, 0, PRICE, 0]

test('a hold that a copy which is lost has ended brings the receipt of that end, and claims nothing else', async () => {
  const id = await world.held(alice, bob)
  const archive = world.archive(bob.node)
  const madeAtMs = world.clock.ms
  bob.node.say(id, 'roses are red')
  await world.turns(2)
  expect(has()).toEqual(TAKEN)
  await bob.stop()
  const node = await world.restore(bob.node, archive, madeAtMs)
  const restored = new PayingNode(node, homeOnly(node.ctx.hub))
  expect(restored.payment(id)).toMatchObject({ state: 'held' })
  node.within(() => node.tasks.leaving.decline(node.thread(id), 'no time'))
  await restored.payee.look()
  expect(restored.payment(id)).toMatchObject({ state: 'ended', moved: PRICE, problem: null })
  expect(settled(restored).at(-1)).toMatchObject({ amount: PRICE })
  await restored.stop()
})

describe('an order about a hold', () => {
  test.each<[string, Fault[], string]>([
    ['refused', [{ kind: 'refuse', reason: 'insufficient_funds' }], 'refused'],
    ['refused for its key', Array(2).fill({ kind: 'refuse', reason: 'invalid_signature' }), 'key_unknown'],
    ['said to have ended', [{ kind: 'refuse', reason: 'hold_ended' }], 'hold_ended'],
    ['lost on its way', [{ kind: 'lost_before' }], 'unanswered'],
    ['carried out, and the answer lost', [{ kind: 'lost_after' }], 'unanswered'],
    ['never answered', [{ kind: 'hang' }], 'unanswered'],
    ['answered with a foreign signature', [{ kind: 'forge', in: 'signature' }], 'bad_receipt'],
    ['answered with another payment', [{ kind: 'forge', in: 'payment' }], 'bad_receipt'],
    ['answered with credits of another hub', [{ kind: 'forge', in: 'network' }], 'bad_receipt'],
  ])('that is %s stays open with its reason until the hub signs its end', async (_, faults, problem) => {
    const id = await world.answered(alice, bob)
    world.post.ledger.next('endHold', ...faults)
    await bob.payee.look()
    expect(bob.payment(id)).toMatchObject({ state: 'ending', problem, endReceipt: null, moved: null })
    expect(settled(bob)).toHaveLength(1)
    await later()
    expect(bob.payment(id)).toMatchObject({ state: 'ended', moved: PRICE, problem: null })
    expect(bob.payment(id)?.endReceipt).toEqual(
      world.post.ledger.receiptOf(bob.payment(id)?.payment as Uint8Array, true),
    )
    expect(has()).toEqual(TAKEN)
    expect(settled(bob).at(-1)).toMatchObject({ amount: PRICE })
  })

  test('is signed anew after a rotation, also where the hub hears of the key with it', async () => {
    const id = await world.answered(alice, bob)
    world.post.ledger.next('endHold', { kind: 'lost_before' })
    await bob.payee.look()
    await bob.node.rotate({ told: false })
    await later()
    expect(bob.payment(id)).toMatchObject({ state: 'ended', moved: PRICE })
    expect(has()).toEqual(TAKEN)
  })

  test('that was carried out before a rotation is answered with the stored receipt', async () => {
    const id = await world.answered(alice, bob)
    world.post.ledger.next('endHold', { kind: 'lost_after' })
    await bob.payee.look()
    await bob.node.rotate()
    await later()
    expect(bob.payment(id)).toMatchObject({ state: 'ended', moved: PRICE })
  })

  test('that came too late ends with the receipt of the lapse, and nothing was moved', async () => {
    const id = await world.answered(alice, bob)
    world.post.ledger.always('endHold', { kind: 'lost_before' })
    await bob.payee.look()
    world.post.ledger.heal()
    world.pass((bob.payment(id)?.holdUntil ?? 0) - world.clock.ms)
    await bob.payee.look()
    expect(bob.payment(id)).toMatchObject({ state: 'ended', moved: 0 })
    expect(bob.payment(id)?.endReceipt).not.toBeNull()
    expect(has()).toEqual([GRANTED, 0, 0, 0])
  })

  test('is asked about ever less often', async () => {
    const id = await world.answered(alice, bob)
    world.post.ledger.always('endHold', { kind: 'lost_before' })
    const asked = () => world.post.ledger.asked.filter(({ operation }) => operation === 'endHold').length
    for (let minute = 0; minute < 120; minute++) {
      world.pass(MINUTE_MS)
      await bob.payee.look()
    }
    expect(asked()).toBeLessThan(40)
    expect(bob.payment(id)?.state).toBe('ending')
  })
})

test('an order without its answer stands with the balance: what it takes, why it waits and until when', async () => {
  const id = await world.held(alice, bob)
  const { ctx, hub } = bob.node
  expect(await balancesOf(ctx).at(hub)).not.toHaveProperty('open')
  bob.node.say(id, 'roses are red')
  world.post.ledger.next('endHold', { kind: 'refuse', reason: 'hold_ended' })
  await bob.payee.look()
  const { payment, nextAt } = bob.payment(id) ?? {}
  const open = {
    interaction_id: id,
    transaction: cidText(payment as Uint8Array),
    amount: PRICE,
    takes: PRICE,
  }
  expect((await balancesOf(ctx).at(hub)).open).toEqual([
    { ...open, problem: 'hold_ended', next_try_at: nextAt },
  ])
  expect(nextAt).toBeGreaterThan(world.clock.ms)
  await later()
  expect(await balancesOf(ctx).at(hub)).not.toHaveProperty('open')
})

test('a hold that an earlier release took for ended without a receipt is asked about again', async () => {
  const id = await world.answered(alice, bob)
  world.post.ledger.next('endHold', { kind: 'refuse', reason: 'hold_ended' })
  await bob.payee.look()
  bob.node.ctx.store.run("UPDATE payments SET state = 'ended', moved = 0, problem = NULL, next_at = 0")
  const anew = payeeOf(bob.node.ctx)
  await anew.look()
  await anew.stop()
  expect(bob.payment(id)).toMatchObject({ state: 'ended', moved: PRICE, problem: null })
  expect(bob.payment(id)?.endReceipt).not.toBeNull()
  expect(has()).toEqual(TAKEN)
})

describe('a hold that is refused while its payee has left the hub for a moment', () => {
  const away: Fault = {
    kind: 'refuse',
    reason: 'invalid_payload',
    says: 'the payment does not fit its requirements: the payee is not registered here',
  }

  test('is asked for again until the payee is back', async () => {
    const id = await world.authorized(alice, bob)
    world.post.ledger.next('settle', away)
    await world.settle()
    await bob.calls.look()
    expect(bob.payment(id)).toMatchObject({ state: 'authorized', problem: 'refused', reason: null })
    await later(MINUTE_MS)
    expect(bob.payment(id)).toMatchObject({ state: 'held', problem: null })
    expect(bob.node.thread(id).state).toBe('open')
  })

  test('is refused once its authorization is over', async () => {
    const id = await world.authorized(alice, bob)
    world.post.ledger.always('settle', away)
    await world.settle()
    await bob.calls.look()
    world.post.ledger.heal()
    await later(2 * HOUR_MS)
    expect(bob.payment(id)).toMatchObject({ state: 'refused' })
    expect(has()).toEqual([GRANTED, 0, 0, 0])
  })

  test('is refused at once where the payee has another home', async () => {
    const id = await world.authorized(alice, bob)
    world.post.ledger.next('settle', { kind: 'lost_before' })
    await world.settle()
    await bob.calls.look()
    world.move(bob)
    world.post.ledger.always('settle', away)
    await later(MINUTE_MS)
    expect(bob.payment(id)).toMatchObject({ state: 'refused' })
  })
})

describe('after a move to another hub', () => {
  test('an order goes to the hub that holds the credits, under the new key', async () => {
    const id = await world.answered(alice, bob)
    world.post.ledger.next('endHold', { kind: 'lost_before' })
    await bob.payee.look()
    const other = world.move(bob)
    world.pass(10 * MINUTE_MS)
    await bob.payee.look()
    expect(bob.payment(id)).toMatchObject({ state: 'ended', moved: PRICE })
    expect(other.ledger.asked).toEqual([])
    expect(has()).toEqual(TAKEN)
  })

  test('a hold whose answer was lost is asked for at the hub of its network', async () => {
    const id = await world.authorized(alice, bob)
    world.post.ledger.next('settle', { kind: 'lost_after' })
    await world.settle()
    await bob.calls.look()
    const other = world.move(bob)
    world.pass(MINUTE_MS)
    await bob.calls.look()
    expect(bob.payment(id)).toMatchObject({ state: 'held' })
    expect(other.ledger.asked).toEqual([])
  })

  test('a payer asks the hub where it paid what became of that', async () => {
    const id = await world.held(alice, bob)
    world.move(alice)
    alice.node.ctx.store.run("UPDATE interactions SET state = 'cancelled' WHERE id = ?", id)
    world.pass((alice.payment(id)?.holdUntil ?? 0) - world.clock.ms + MINUTE_MS)
    await alice.payer.look()
    expect(alice.payment(id)).toMatchObject({ state: 'ended', moved: 0 })
  })
})

describe('a task that is withdrawn', () => {
  test('while the answer to its hold is lost gives the credits back once the hub answers', async () => {
    const id = await world.authorized(alice, bob)
    world.post.ledger.next('settle', { kind: 'lost_after' })
    await world.settle()
    await bob.calls.look()
    expect(bob.payment(id)).toMatchObject({ state: 'authorized', problem: 'unanswered' })
    expect(has()).toEqual([GRANTED - PRICE, PRICE, 0, 0])
    withdraw(id)
    await world.settle()
    await later()
    expect(bob.payment(id)).toMatchObject({ state: 'ended', moved: 0 })
    expect(has()).toEqual([GRANTED, 0, 0, 0])
  })

  test('is not taken for unpaid while the hub is silent about its hold', async () => {
    const id = await world.authorized(alice, bob)
    world.post.ledger.always('settle', { kind: 'lost_after' })
    await world.settle()
    await bob.calls.look()
    withdraw(id)
    await world.settle()
    for (let hour = 0; hour < 3; hour++) await later(HOUR_MS)
    expect(bob.payment(id)).toMatchObject({ state: 'authorized', problem: 'unanswered' })
    world.post.ledger.heal()
    await later()
    expect(bob.payment(id)).toMatchObject({ state: 'ended', moved: 0 })
    expect(has()).toEqual([GRANTED, 0, 0, 0])
  })

  test('that the hub never heard of ends with its refusal, and moves nothing', async () => {
    const id = await world.authorized(alice, bob)
    world.post.ledger.next('settle', { kind: 'lost_before' })
    await world.settle()
    await bob.calls.look()
    withdraw(id)
    await world.settle()
    await later(2 * HOUR_MS)
    expect(bob.payment(id)).toMatchObject({ state: 'refused' })
    expect(has()).toEqual([GRANTED, 0, 0, 0])
  })
})

test('a task that was answered for want of the word of its hub gives back what was held all the same', async () => {
  const id = await world.authorized(alice, bob)
  world.post.ledger.always('settle', { kind: 'lost_after' })
  await world.settle()
  await bob.calls.look()
  world.pass(2 * HOUR_MS)
  await bob.calls.look()
  await world.settle()
  expect(bob.node.thread(id).state).not.toBe('open')
  expect(bob.payment(id)).toMatchObject({ state: 'authorized', problem: 'unanswered' })
  world.post.ledger.heal()
  await later()
  expect(bob.payment(id)).toMatchObject({ state: 'ended', moved: 0 })
  expect(has()).toEqual([GRANTED, 0, 0, 0])
})
