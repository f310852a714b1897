/** A receipt of a hub proves its payment, or it is said why not. */

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { rotate } from '../../protocol/identity/kel.ts'
import { AUTHORIZATION_LIFE_MAX_MS, Authorization, settlementKinds } from '../../protocol/proof/payment.ts'
import { seenHeads } from '../store/supply-heads.ts'
import { PaidWorld, type PayingNode, PRICE } from '../testing/paying.ts'
import { paymentParts } from './parts.ts'
import { quoteOfRow } from './receipts.ts'

let world: PaidWorld
let alice: PayingNode
let bob: PayingNode
beforeEach(async () => {
  world = new PaidWorld()
  ;({ alice, bob } = await world.paid())
})
afterEach(() => world[Symbol.asyncDispose]())

const signal = () => AbortSignal.timeout(1000)
async function heldPayment() {
  const id = await world.held(alice, bob)
  const row = bob.payment(id)
  if (row?.heldReceipt == null) throw new Error('there is no receipt')
  return { id, row, receipt: row.heldReceipt, authorization: Authorization.decode(row.authorization) }
}

describe('a receipt', () => {
  test('that the hub signed for the payment proves it, and its head of the chain is kept', async () => {
    const { row, receipt } = await heldPayment()
    const { ctx, hub } = bob.node
    expect(await paymentParts(ctx).receipts.faultOfRow(row, hub, receipt, 'held')).toBeUndefined()
    expect([...seenHeads(ctx.store, world.post.log.aid).keys()]).toEqual([0])
  })

  test('that does not decode proves nothing, and says so', async () => {
    const { row, receipt } = await heldPayment()
    const { ctx, hub } = bob.node
    for (const bytes of [new Uint8Array(), new Uint8Array([1, 2, 3]), receipt.slice(0, -1)])
      expect(await paymentParts(ctx).receipts.faultOfRow(row, hub, bytes, 'held')).toEqual(expect.any(String))
  })

  test('of a hold is none of its end, nor the other way round', async () => {
    const { row, receipt, id } = await heldPayment()
    const { ctx, hub } = bob.node
    expect(await paymentParts(ctx).receipts.faultOfRow(row, hub, receipt, 'ended')).toEqual(
      expect.any(String),
    )
    bob.node.say(id, 'roses are red')
    await world.turns(3)
    const end = bob.payment(id)?.endReceipt
    if (end == null) throw new Error('it has not ended')
    expect(await paymentParts(ctx).receipts.faultOfRow(row, hub, end, 'ended')).toBeUndefined()
    expect(await paymentParts(ctx).receipts.faultOfRow(row, hub, end, 'held')).toEqual(expect.any(String))
  })

  test('under a newer key of the hub is judged with its newest history, and an honest one asks for none', async () => {
    const { receipt, authorization } = await heldPayment()
    const { ctx, hub } = bob.node
    const expected = { authorization, kinds: [settlementKinds.held] }
    const asked = () => hub.calls.filter(name => name === 'refresh').length
    const before = asked()
    expect(await paymentParts(ctx).receipts.faultOf(hub, receipt, expected)).toBeUndefined()
    expect(asked()).toBe(before)
  })

  test('that was asked for before a key of the hub was seen here may be under the key before', async () => {
    const { receipt, authorization, row } = await heldPayment()
    const { ctx, hub } = bob.node
    const { notBefore } = authorization.body
    world.pass(1000)
    paymentParts(ctx).receipts.noteKeyState({ aid: hub.identity.aid, seq: 5 })
    for (const askedAtMs of [row.at, notBefore])
      expect(
        await paymentParts(ctx).receipts.faultOf(hub, receipt, {
          authorization,
          kinds: [settlementKinds.held],
          askedAtMs,
        }),
      ).toBeUndefined()
  })
})

test('a receipt under a key that its hub has rotated holds where it was asked for before the new one was seen', async () => {
  const { receipt, authorization } = await heldPayment()
  const { ctx, hub } = bob.node
  world.pass(1000)
  const keys = { seed: new Uint8Array(32).fill(202), nextSeed: new Uint8Array(32).fill(204) }
  const log = rotate(hub.identity.log, { ...keys, ts: world.clock.ms })
  const rotated = { identity: { ...hub.identity, log }, refresh: async () => undefined }
  const seenAt = ctx.hubNow()
  const faultOf = (askedAtMs: number) =>
    paymentParts(ctx).receipts.faultOf(rotated, receipt, {
      authorization,
      kinds: [settlementKinds.held],
      askedAtMs,
    })
  expect([await faultOf(seenAt - 1), await faultOf(seenAt)]).toEqual([undefined, 'key_state'])
})

describe('a payment of which nothing was heard', () => {
  const silent = async () => {
    const id = await world.authorized(alice, bob)
    return { id, row: alice.payment(id) }
  }
  const ask = () => paymentParts(alice.node.ctx).silent.ask(alice.node.hub, signal())

  test('is asked about once it can no longer be made, four minutes after its time', async () => {
    const { id, row } = await silent()
    const end = (row?.at ?? 0) + AUTHORIZATION_LIFE_MAX_MS + 4 * 60_000
    world.clock.ms = end
    expect(await ask()).toEqual({ settled: [], lapsed: [] })
    world.clock.ms = end + 1
    expect(await ask()).toEqual({ settled: [], lapsed: [id] })
    expect(alice.payment(id)).toMatchObject({
      state: 'refused',
      reason: 'nobody used the authorization in its time',
    })
    expect(await ask()).toEqual({ settled: [], lapsed: [] })
  })

  test('gets the receipt that the hub has of it', async () => {
    const { id, row } = await silent()
    if (row === undefined) throw new Error('there is no payment')
    const told = await alice.node.hub.credits.settle(row.authorization, quoteOfRow(row), signal())
    expect(told).toHaveProperty('receipt')
    world.pass(AUTHORIZATION_LIFE_MAX_MS + 4 * 60_000 + 1)
    expect(await ask()).toEqual({ settled: [id], lapsed: [] })
    expect(alice.payment(id)?.heldReceipt).not.toBeNull()
  })

  test('has the terms that its authorization says', async () => {
    const { row } = await silent()
    if (row === undefined) throw new Error('there is no payment')
    const { body } = Authorization.decode(row.authorization)
    expect(quoteOfRow(row)).toMatchObject({
      provider: bob.node.aid,
      amount: PRICE,
      network: world.network,
      holdSeconds: ((body.holdUntil ?? 0) - body.notAfter) / 1000,
    })
  })
})
