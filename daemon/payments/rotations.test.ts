/** What was signed to be sent later is signed anew when its key goes, and done once. */

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Authorization, transactionOf } from '../../protocol/proof/payment.ts'
import { givenBack } from '../store/payments.ts'
import { redemptionAsked } from '../store/redemptions.ts'
import { GRANTED, PaidWorld, type PayingNode, PRICE } from '../testing/paying.ts'
import type { Fault } from '../testing/scripted-credits.ts'
import { paymentParts } from './parts.ts'

let world: PaidWorld
let alice: PayingNode
let bob: PayingNode
/** Longer than the ledger takes, shorter than it hangs. */
const soon = () => AbortSignal.timeout(100)

beforeEach(async () => {
  world = new PaidWorld()
  ;({ alice, bob } = await world.paid())
})
afterEach(() => world[Symbol.asyncDispose]())

const balances = () => [alice, bob].map(({ node }) => world.post.ledger.balanceOf(node.aid).balance)
const later = async () => {
  world.pass(600_000)
  await world.turns(2)
}

/** A paid task whose credits bob has taken. */
async function taken(): Promise<string> {
  const id = await world.answered(alice, bob)
  await world.turns(2)
  expect(bob.payment(id)).toMatchObject({ state: 'ended', moved: PRICE })
  return id
}

/** Has bob give everything back, as the command does. */
async function refund(id: string) {
  const { ctx, hub } = bob.node
  const prepare = (isRenewed: boolean) =>
    bob.node.within(() => paymentParts(ctx).ownRefunds.prepare(bob.node.thread(id), undefined, isRenewed))
  const given = { prepared: prepare(false), renew: () => prepare(true), signal: soon() }
  return await paymentParts(ctx).ownRefunds.settle(hub, bob.node.thread(id), given)
}

type Waiting = {
  /** Who signed it. */
  by: 'alice' | 'bob'
  begin(fault: Fault): Promise<string>
  goOn(id: string): Promise<void>
  /** Balances of alice and bob once it is done, once. */
  ends: [number, number]
}

/** Everything about payments that is signed, kept, and may be sent later. */
const waiting: Record<string, Waiting> = {
  'an order that takes a hold': {
    by: 'bob',
    async begin(fault) {
      const id = await world.answered(alice, bob)
      world.post.ledger.next('endHold', fault)
      await bob.payee.look()
      return id
    },
    goOn: later,
    ends: [GRANTED - PRICE, PRICE],
  },
  'an order that gives a hold back': {
    by: 'bob',
    async begin(fault) {
      const id = await world.held(alice, bob)
      alice.node.within(() => alice.node.tasks.endings.propose(alice.node.thread(id)))
      await world.settle()
      bob.node.within(() => bob.node.tasks.endings.accept(bob.node.thread(id)))
      world.post.ledger.next('endHold', fault)
      await bob.payee.look()
      return id
    },
    goOn: later,
    ends: [GRANTED, 0],
  },
  'a refund': {
    by: 'bob',
    async begin(fault) {
      const id = await taken()
      world.post.ledger.next('settle', fault)
      await expect(refund(id)).rejects.toThrow()
      return id
    },
    async goOn(id) {
      await refund(id)
      const payment = bob.payment(id)?.payment as Uint8Array
      expect(givenBack(bob.node.ctx.store, payment)).toBe(PRICE)
    },
    ends: [GRANTED, 0],
  },
  'a redemption': {
    by: 'alice',
    async begin(fault) {
      world.post.ledger.next('redeem', fault)
      await expect(alice.wallet.redeem(alice.node.hub, 7, 'bill 1', soon())).rejects.toThrow()
      return ''
    },
    async goOn() {
      const done = await alice.wallet.redeem(alice.node.hub, 7, 'bill 1', soon())
      expect(done).toMatchObject({ amount: 7, verified: true })
      expect(redemptionAsked(alice.node.ctx.store, { amount: 7, reference: 'bill 1' })).toBeUndefined()
    },
    ends: [GRANTED - 7, 0],
  },
}

const lost: Fault[] = [{ kind: 'lost_before' }, { kind: 'lost_after' }, { kind: 'hang' }]
const cases = Object.keys(waiting).flatMap(what =>
  lost.flatMap(fault => [true, false].map(told => ({ what, fault: fault.kind, told, given: fault }))),
)

test.each(cases)(
  '$what whose answer was $fault is done once after a rotation (hub told: $told)',
  async ({ what, given, told }) => {
    const { by, begin, goOn, ends } = waiting[what] as Waiting
    const id = await begin(given)
    await { alice, bob }[by].node.rotate({ told })
    await goOn(id)
    expect(balances()).toEqual(ends)
    expect(world.post.ledger.outstanding).toBe(what === 'a redemption' ? GRANTED - 7 : GRANTED)
  },
)

test('a forged receipt of a redemption ends nothing: the same again asks for the same', async () => {
  world.post.ledger.next('redeem', { kind: 'forge', in: 'signature' })
  await expect(alice.wallet.redeem(alice.node.hub, 7, 'bill 2', soon())).rejects.toThrow('does not hold')
  await alice.wallet.redeem(alice.node.hub, 7, 'bill 2', soon())
  expect(balances()[0]).toBe(GRANTED - 7)
})

describe('an authorization under a key that is gone', () => {
  test('that its payee had not used moves nothing, and its payer is asked again', async () => {
    const id = await world.authorized(alice, bob)
    await alice.node.send()
    await alice.node.rotate()
    await world.turns(3)
    expect(bob.payment(id)?.state).toBe('refused')
    expect(balances()).toEqual([GRANTED, 0])
    expect(alice.payment(id)).toMatchObject({
      state: 'authorized',
      reason: expect.stringContaining('refused'),
    })
  })

  test('is signed anew where nobody has seen it, and pays', async () => {
    const id = await world.authorized(alice, bob)
    const before = alice.payment(id)
    await alice.node.rotate()
    const { payment, authorization } = alice.payment(id) as NonNullable<typeof before>
    expect(payment).not.toEqual(before?.payment)
    expect(Authorization.decode(authorization).body.payerKelSeq).toBe(alice.node.ctx.identity.log.seq)
    await world.turns(2)
    expect(bob.payment(id)).toMatchObject({ state: 'held', payment })
    expect(balances()).toEqual([GRANTED - PRICE, 0])
  })

  test('that the hub had held already goes on', async () => {
    const id = await world.authorized(alice, bob)
    world.post.ledger.next('settle', { kind: 'lost_after' })
    await world.settle()
    await bob.calls.look()
    await alice.node.rotate()
    await world.turns(2)
    expect(bob.payment(id)?.state).toBe('held')
    const { authorization } = bob.payment(id) as { authorization: Uint8Array }
    expect(transactionOf(Authorization.decode(authorization))).toEqual(bob.payment(id)?.payment)
  })
})

test('a refund is good for an hour to the millisecond, however the clock ticks while it is signed', async () => {
  const id = await taken()
  const { ctx } = bob.node
  let ticks = 0
  const hubNow = () => ctx.hubNow() + ticks++
  const { encoded } = bob.node.within(() =>
    paymentParts({ ...ctx, hubNow }).ownRefunds.prepare(bob.node.thread(id), undefined),
  )
  const { notBefore, notAfter } = Authorization.decode(encoded).body
  expect(notAfter - notBefore).toBe(3_600_000)
})
