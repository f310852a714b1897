/** What a person says twice, because the first answer never came, is redeemed once. */

import { afterEach, beforeEach, expect, test } from 'vitest'
import { OperationRefused } from '../../protocol/control/refusal.ts'
import { GRANTED, PaidWorld, type PayingNode } from '../testing/paying.ts'
import { paymentParts } from './parts.ts'
import { openAt } from './redemptions.ts'

const AMOUNT = 7

let world: PaidWorld
let alice: PayingNode

beforeEach(async () => {
  world = new PaidWorld()
  ;({ alice } = await world.paid())
})
afterEach(() => world[Symbol.asyncDispose]())

const balance = () => world.post.ledger.balanceOf(alice.node.aid).balance
/** As `svc redeem` does. */
async function redeem(given: { reference?: string; again?: boolean } = {}) {
  const { ctx, hub } = alice.node
  const own = paymentParts(ctx).redemptions.referenceFor({ amount: AMOUNT, ...given })
  return await alice.wallet.redeem(hub, AMOUNT, own, AbortSignal.timeout(100))
}
async function refused(given?: { reference?: string; again?: boolean }): Promise<OperationRefused> {
  const error = await redeem(given).catch((thrown: unknown) => thrown)
  if (!(error instanceof OperationRefused)) throw new Error(`not refused: ${String(error)}`)
  return error
}

test('what was redeemed for a reference is named, and redeemed again only where that is said', async () => {
  const { auth_id } = await redeem({ reference: 'bill 1' })
  const { code, message, next } = await refused({ reference: 'bill 1' })
  expect([code, message, next]).toEqual([
    'wrong_state',
    `7 credits were redeemed already for bill 1, by ${auth_id}`,
    "svc redeem 7 --ref 'bill 1' --again",
  ])
  expect(balance()).toBe(GRANTED - AMOUNT)
  await redeem({ reference: 'bill 2' })
  await redeem({ reference: 'bill 1', again: true })
  expect(balance()).toBe(GRANTED - 3 * AMOUNT)
})

test('one without its answer is asked for again under its reference, and done once', async () => {
  world.post.ledger.next('redeem', { kind: 'lost_after' })
  await expect(redeem({ reference: 'bill 1' })).rejects.toThrow()
  await redeem({ reference: 'bill 1' })
  expect(balance()).toBe(GRANTED - AMOUNT)
})

test('one that waits for its hub is not made at another one, whatever that refuses', async () => {
  world.post.ledger.next('redeem', { kind: 'lost_after' })
  await expect(redeem({ reference: 'bill 1' })).rejects.toThrow()
  const left = alice.node.hub
  const other = world.move(alice)
  other.ledger.grant(alice.node.aid, GRANTED)
  const { home } = alice.node.ctx.hub
  const asked = alice.wallet.redeem(home ?? left, AMOUNT, 'bill 1', AbortSignal.timeout(100))
  await expect(asked).rejects.toMatchObject({ code: 'wrong_state' })
  expect(openAt(alice.node.ctx.store, AMOUNT, 'bill 1')).toBe(world.network)
  expect(other.ledger.balanceOf(alice.node.aid).balance).toBe(GRANTED)
})

test('one without a reference is not made beside one of which nothing was heard', async () => {
  world.post.ledger.next('redeem', { kind: 'lost_after' })
  await expect(redeem()).rejects.toThrow()
  const { code, next = '' } = await refused()
  expect([code, next]).toEqual([
    'wrong_state',
    expect.stringMatching(/^svc redeem 7 --ref svc-[0-9a-f]{16}$/),
  ])
  await redeem({ reference: next.slice(next.indexOf('svc-')) })
  expect(balance()).toBe(GRANTED - AMOUNT)
})

test('one without a reference is not made twice within minutes, unless that is said', async () => {
  await redeem()
  expect(await refused()).toMatchObject({ code: 'wrong_state', next: 'svc redeem 7 --again' })
  await redeem({ again: true })
  world.pass(11 * 60_000)
  await redeem()
  expect(balance()).toBe(GRANTED - 3 * AMOUNT)
})

test('one that a copy which is lost had asked for is not made again by a restored node, unless that is said', async () => {
  const archive = world.archive(alice.node)
  const madeAtMs = world.clock.ms
  const asked = ({ ctx, hub }: typeof alice.node, again = false) =>
    paymentParts(ctx).redemptions.requireNoneLost(hub, { amount: AMOUNT, again }, AbortSignal.timeout(1000))
  await redeem({ reference: 'bill 1' })
  await asked(alice.node)
  const restored = await world.restore(alice.node, archive, madeAtMs)
  await expect(asked(restored)).rejects.toMatchObject({
    code: 'wrong_state',
    message: expect.stringContaining('which a copy that is lost may have asked for'),
    next: 'svc redeem 7 --again',
  })
  await asked(restored, true)
})
