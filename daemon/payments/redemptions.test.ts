/** What a person says twice, because the first answer never came, is redeemed once. */

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { OperationRefused } from '../../protocol/control/refusal.ts'
import { paymentWarnings } from '../control/payment-warnings.ts'
import { GRANTED, PaidWorld, type PayingNode } from '../testing/paying.ts'
import { paymentParts } from './parts.ts'
import { openAt, pendingRedemptions } from './redemptions.ts'

const signal = () => AbortSignal.timeout(1000)

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

test('one without a reference is made again ten minutes after the receipt of the last, and no sooner', async () => {
  await redeem()
  world.pass(10 * 60_000 - 1)
  expect(await refused()).toMatchObject({ next: 'svc redeem 7 --again' })
  world.pass(1)
  await redeem()
  expect(balance()).toBe(GRANTED - 2 * AMOUNT)
})

test('one of another amount, or under a reference that a person gave, stands in the way of none', async () => {
  const { redemptions } = paymentParts(alice.node.ctx)
  await redeem()
  expect(redemptions.referenceFor({ amount: AMOUNT + 1 })).toMatch(/^svc-[0-9a-f]{16}$/)
  world.pass(11 * 60_000)
  await redeem({ reference: 'bill 1' })
  expect(redemptions.referenceFor({ amount: AMOUNT })).toMatch(/^svc-[0-9a-f]{16}$/)
  expect(redemptions.referenceFor({ amount: AMOUNT + 1, reference: 'bill 1' })).toBe('bill 1')
  world.post.ledger.next('redeem', { kind: 'lost_after' })
  await expect(redeem({ reference: 'bill 2' })).rejects.toThrow()
  expect(redemptions.referenceFor({ amount: AMOUNT })).toMatch(/^svc-[0-9a-f]{16}$/)
})

test('one that its hub refuses in its time is not signed anew, and says why', async () => {
  world.post.ledger.always('redeem', { kind: 'refuse', reason: 'expired' })
  expect(await refused({ reference: 'bill 1' })).toMatchObject({
    code: 'hub_refused',
    message: 'the hub redeemed nothing: expired',
    next: 'svc balance',
  })
  expect(world.post.ledger.asked.filter(({ operation }) => operation === 'redeem')).toHaveLength(1)
  expect(openAt(alice.node.ctx.store, AMOUNT, 'bill 1')).toBe(world.network)
})

test('one by a receipt that does not hold is open still, and stands in no record', async () => {
  world.post.ledger.next('redeem', { kind: 'forge', in: 'signature' })
  expect(await refused({ reference: 'bill 1' })).toMatchObject({
    code: 'hub_refused',
    message: 'the hub answered with a receipt that does not hold; ask again',
  })
  const redeemed = () => alice.node.ctx.chain.read({ eventType: 'svc.credit.redeemed' })
  expect([openAt(alice.node.ctx.store, AMOUNT, 'bill 1'), redeemed()]).toEqual([world.network, []])
  expect(await redeem({ reference: 'bill 1' })).toMatchObject({ amount: AMOUNT, verified: true })
  expect([openAt(alice.node.ctx.store, AMOUNT, 'bill 1'), redeemed().length]).toEqual([undefined, 1])
})

test('one of which nothing was heard is spoken of until a day after its time', async () => {
  world.post.ledger.next('redeem', { kind: 'lost_before' })
  await expect(redeem({ reference: 'bill 1' })).rejects.toThrow()
  const { store } = alice.node.ctx
  const [{ notAfter } = { notAfter: 0 }] = pendingRedemptions(store, world.clock.ms)
  expect(notAfter).toBe(world.clock.ms + 3_600_000)
  expect(pendingRedemptions(store, notAfter + 86_400_000 - 1)).toHaveLength(1)
  expect(pendingRedemptions(store, notAfter + 86_400_000)).toEqual([])
})

test('one that its hub refused is spoken of while the hub may still do it', async () => {
  world.post.ledger.next('redeem', { kind: 'refuse', reason: 'insufficient_funds' })
  await expect(redeem({ reference: 'bill 1' })).rejects.toThrow()
  const { store } = alice.node.ctx
  const [{ notAfter } = { notAfter: 0 }] = pendingRedemptions(store, world.clock.ms)
  const warned = (atMs: number) => paymentWarnings(store, () => atMs)
  expect(warned(notAfter + 4 * 60_000 - 1)).toEqual([
    "the hub refused to redeem 7 credits, and may still do so until what was signed for it expires; svc redeem 7 --ref 'bill 1' asks again",
  ])
  expect(warned(notAfter + 4 * 60_000)).toEqual([])
})

test('one that never came is signed anew after its time, and done once', async () => {
  world.post.ledger.next('redeem', { kind: 'lost_before' })
  await expect(redeem({ reference: 'bill 1' })).rejects.toThrow()
  world.pass(2 * 3_600_000)
  await redeem({ reference: 'bill 1' })
  expect(balance()).toBe(GRANTED - AMOUNT)
})

test('one that its hub refuses is signed anew once it is older than four minutes beyond its time', async () => {
  world.post.ledger.next('redeem', { kind: 'lost_before' })
  await expect(redeem({ reference: 'bill 1' })).rejects.toThrow()
  const [{ notAfter } = { notAfter: 0 }] = pendingRedemptions(alice.node.ctx.store, world.clock.ms)
  const asked = async () => {
    world.post.ledger.asked.length = 0
    world.post.ledger.always('redeem', { kind: 'refuse', reason: 'expired' })
    await expect(redeem({ reference: 'bill 1' })).rejects.toThrow('the hub redeemed nothing: expired')
    return world.post.ledger.asked.length
  }
  world.clock.ms = notAfter + 4 * 60_000
  expect(await asked()).toBe(1)
  world.pass(1)
  expect(await asked()).toBe(2)
})

test.each([
  [300, 'x'.repeat(300)],
  [301, `${'x'.repeat(299)}…`],
])('one that its hub refuses in %i letters says so in 300', async (length, says) => {
  world.post.ledger.always('redeem', { kind: 'refuse', reason: 'expired', says: 'x'.repeat(length) })
  expect(await refused({ reference: 'bill 1' })).toMatchObject({
    message: `the hub redeemed nothing: ${says}`,
  })
})

describe('a restored node redeems', () => {
  type Entry = Awaited<ReturnType<typeof alice.node.hub.credits.account>>['entries'][number]
  /** Whether it may, where its hub shows this entry. */
  async function mayRedeem(entry: (madeAtMs: number) => Partial<Entry>): Promise<boolean> {
    const madeAtMs = world.clock.ms
    const { ctx, hub } = await world.restore(alice.node, world.archive(alice.node), madeAtMs)
    const shown = { seq: 9, atMs: madeAtMs, delta: -AMOUNT, reason: 'redemption', transaction: 'b1' }
    const told = { ...(await hub.credits.account(1, signal())), entries: [{ ...shown, ...entry(madeAtMs) }] }
    const asked = { credits: { ...hub.credits, account: async () => told as never } }
    return paymentParts(ctx)
      .redemptions.requireNoneLost(asked, { amount: AMOUNT }, signal())
      .then(
        () => true,
        () => false,
      )
  }

  test('after a look at its newest 500 entries, beside what it has signed itself', async () => {
    await redeem({ reference: 'bill 1' })
    const { ctx, hub } = await world.restore(alice.node, world.archive(alice.node), world.clock.ms)
    const wanted: number[] = []
    const account = (max: number, within: AbortSignal) => {
      wanted.push(max)
      return hub.credits.account(max, within)
    }
    const asked = { credits: { ...hub.credits, account } }
    await paymentParts(ctx).redemptions.requireNoneLost(asked, { amount: AMOUNT }, signal())
    expect(wanted).toEqual([500])
  })

  test.each<[string, boolean, (madeAtMs: number) => Partial<Entry>]>([
    ['not beside the same that it does not know', false, () => ({})],
    ['not where that is an hour older than the backup', false, at => ({ atMs: at - 3_600_000 })],
    ['beside one that is older', true, at => ({ atMs: at - 3_600_001 })],
    ['beside one of more', true, () => ({ delta: -AMOUNT - 1 })],
    ['beside one of less', true, () => ({ delta: -AMOUNT + 1 })],
    ['beside a payment', true, () => ({ reason: 'paid' })],
    ['beside one without an id', true, () => ({ transaction: undefined })],
  ])('%s', async (_, may, entry) => {
    expect(await mayRedeem(entry)).toBe(may)
  })
})
