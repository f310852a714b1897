/** The ledger of the tests is held to what a hub does, or every test upon it would prove nothing. */

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Authorization, settlementKinds } from '../../protocol/proof/payment.ts'
import { orderFor } from '../payments/orders.ts'
import { paymentParts } from '../payments/parts.ts'
import { HOUR_MS } from './node.ts'
import { GRANTED, PaidWorld, type PayingNode, PRICE } from './paying.ts'

let world: PaidWorld
let alice: PayingNode
let bob: PayingNode
const never = new AbortController().signal

beforeEach(async () => {
  world = new PaidWorld()
  ;({ alice, bob } = await world.paid())
})
afterEach(() => world[Symbol.asyncDispose]())

const has = () => [alice, bob].flatMap(({ node }) => Object.values(world.post.ledger.balanceOf(node.aid)))
const order = (id: string, amount: number) =>
  orderFor(
    bob.node.ctx.identity,
    { payment: bob.payment(id)?.payment ?? new Uint8Array() },
    { amount, madeAt: bob.node.ctx.hubNow() },
  )
const end = (id: string, amount: number) =>
  bob.node.hub.credits.endHold(order(id, amount), amount === 0 ? 'release' : 'capture', never)

describe('the scripted ledger', () => {
  test('holds, captures once, and answers the same order with the same receipt', async () => {
    const id = await world.held(alice, bob)
    expect(has()).toEqual([GRANTED - PRICE, PRICE, 0, 0])
    const first = await end(id, PRICE)
    expect(has()).toEqual([GRANTED - PRICE, 0, PRICE, 0])
    expect(await end(id, PRICE)).toEqual(first)
    expect(await end(id, 0)).toMatchObject({ refused: 'hold_ended' })
    expect(world.post.ledger.outstanding).toBe(GRANTED)
  })

  test('gives a hold back once its time is over', async () => {
    const id = await world.held(alice, bob)
    world.pass((bob.payment(id)?.holdUntil ?? 0) - world.clock.ms)
    expect(has()).toEqual([GRANTED, 0, 0, 0])
    expect(await end(id, PRICE)).toMatchObject({ refused: 'hold_ended' })
    expect(await end(id, 0)).toMatchObject({ receipt: expect.anything() })
  })

  test('judges the signature of an order under the newest key that it was told of', async () => {
    const id = await world.held(alice, bob)
    await bob.node.rotate({ told: false })
    expect(await end(id, PRICE)).toMatchObject({ refused: 'invalid_signature' })
    await bob.node.hub.pushLog(bob.node.ctx.identity.log)
    expect(await end(id, PRICE)).toMatchObject({ receipt: expect.anything() })
  })

  test('loses an answer before or after the commit, refuses, hangs, and forgets', async () => {
    const { ledger } = world.post
    const id = await world.held(alice, bob)
    const before = ledger.snapshot()
    ledger.next('endHold', { kind: 'lost_before' }, { kind: 'lost_after' })
    await expect(end(id, PRICE)).rejects.toThrow('hub unreachable')
    expect(has()).toEqual([GRANTED - PRICE, PRICE, 0, 0])
    await expect(end(id, PRICE)).rejects.toThrow('hub unreachable')
    expect(has()).toEqual([GRANTED - PRICE, 0, PRICE, 0])
    ledger.restore(before)
    expect(has()).toEqual([GRANTED - PRICE, PRICE, 0, 0])
    ledger.always('endHold', { kind: 'refuse', reason: 'hold_ended' })
    expect(await end(id, PRICE)).toMatchObject({ refused: 'hold_ended' })
    ledger.heal()
    ledger.next('endHold', { kind: 'hang' })
    const hung = bob.node.hub.credits.endHold(order(id, PRICE), 'capture', AbortSignal.timeout(20))
    await expect(hung).rejects.toThrow()
    expect(await end(id, PRICE)).toMatchObject({ receipt: expect.anything() })
  })

  test.each(['signature', 'payment', 'amount', 'network'] as const)(
    'forges a receipt in its %s, which proves nothing',
    async wrong => {
      const id = await world.held(alice, bob)
      world.post.ledger.next('endHold', { kind: 'forge', in: wrong })
      const told = await end(id, PRICE)
      const row = bob.payment(id)
      if (!('receipt' in told) || row === undefined) throw new Error('nothing came')
      const authorization = Authorization.decode(row.authorization)
      const asked = { authorization, kinds: [settlementKinds.captured], askedAtMs: row.at }
      expect(await paymentParts(bob.node.ctx).receipts.faultOf(bob.node.hub, told.receipt, asked)).toEqual(
        expect.stringMatching(/signature|payment|amount|network/),
      )
    },
  )

  test('gives back what was taken, and no more', async () => {
    const id = await world.held(alice, bob)
    await end(id, PRICE)
    const { ctx, hub } = bob.node
    const refund = (amount: number) => {
      const authorization = Authorization.sign(ctx.identity.seed, {
        v: 1,
        payer: bob.node.aid,
        payerKelSeq: ctx.identity.log.seq,
        payTo: alice.node.aid,
        amount,
        network: world.network,
        nonce: ctx.random(16),
        notBefore: world.clock.ms,
        notAfter: world.clock.ms + HOUR_MS,
        refundOf: bob.payment(id)?.payment ?? new Uint8Array(36),
      })
      const { payTo: provider } = authorization.body
      const terms = { provider, what: '', amount, network: world.network, settleSeconds: 60 }
      const encoded = Authorization.encode(authorization)
      return hub.credits.settle(encoded, { ...terms, holdSeconds: undefined }, never)
    }
    expect(await refund(PRICE - 1)).toMatchObject({ receipt: expect.anything() })
    expect(await refund(2)).toMatchObject({ refused: 'invalid_payload' })
    expect(await refund(1)).toMatchObject({ receipt: expect.anything() })
    expect(has()).toEqual([GRANTED, 0, 0, 0])
    expect(world.post.ledger.outstanding).toBe(GRANTED)
  })
})
