/** After a restore a hub is asked what lost copies have ordered: at once, then each hour, until nothing can come of it. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { AUTHORIZATION_LIFE_MAX_MS, Authorization, networkOf } from '../../protocol/proof/payment.ts'
import { keepLostAsked } from '../store/hub-accounts.ts'
import { keepLostOrder, noteLostOrderEnd } from '../store/lost-orders.ts'
import { noteSettled } from '../store/restores.ts'
import { DAY_MS, HOUR_MS, type TestNode, TestWorld } from '../testing/node.ts'
import { knownLostOrders, missingSince, openHolds } from './lost-orders.ts'
import { paymentParts } from './parts.ts'

const OVER_MS = AUTHORIZATION_LIFE_MAX_MS + HOUR_MS
const AMOUNT = 5

let world: TestWorld
let node: TestNode
let hub: string
let network: string

beforeEach(async () => {
  world = new TestWorld()
  node = await world.node('nora')
  hub = node.hub.identity.aid
  network = networkOf(hub)
})
afterEach(() => world[Symbol.asyncDispose]())

const due = () => paymentParts(node.ctx).lostQuestions.dueInMs(hub)
/** The node goes on now from a backup of a minute ago. */
function restored(): number {
  const settledMs = world.clock.ms
  node.within(() => noteSettled(node.ctx.store, settledMs - 60_000, settledMs))
  return settledMs
}
const asked = (settledMs: number, atMs = world.clock.ms) =>
  node.within(() => keepLostAsked(node.ctx.store, hub, { settledMs, atMs, unproven: [] }))

/** An order of a lost copy that its hub has shown. */
function ordered(id: string, { of = network, isHeld = true, reason = 'held' } = {}) {
  const { signer } = paymentParts(node.ctx)
  const authorization = Authorization.encode(
    signer.sign({ payTo: node.aid, amount: AMOUNT, network: of, ...(isHeld && { holdSeconds: 60 }) }),
  )
  const order = { id, seq: 1, at: world.clock.ms, reason, counterparty: 'bob', authorization }
  node.within(() => keepLostOrder(node.ctx.store, order))
}

describe('the question is due', () => {
  test('never on a node that was not restored, and it asks nothing', async () => {
    expect(due()).toBeUndefined()
    await paymentParts(node.ctx).lostQuestions.ask(node.hub, AbortSignal.timeout(1000))
    expect(world.post.ledger.asked).toEqual([])
  })

  test('at once after each restore, and for thirteen days', () => {
    const settledMs = restored()
    expect(due()).toBe(0)
    asked(settledMs)
    world.pass(1)
    restored()
    expect(due()).toBe(0)
    world.pass(13 * DAY_MS - 1)
    expect(due()).toBe(0)
    world.pass(1)
    expect(due()).toBeUndefined()
  })

  test('again an hour after it was answered, by a clock that went back as well', () => {
    const settledMs = restored()
    asked(settledMs, world.clock.ms + 60_000)
    expect(due()).toBe(HOUR_MS)
    asked(settledMs)
    expect(due()).toBe(HOUR_MS)
    world.pass(HOUR_MS - 1)
    expect(due()).toBe(1)
    world.pass(1)
    expect(due()).toBe(0)
    world.pass(HOUR_MS)
    expect(due()).toBe(0)
  })

  test('no more once it was asked after every order was over', () => {
    const settledMs = restored()
    world.pass(OVER_MS)
    asked(settledMs)
    expect(due()).toBe(HOUR_MS)
    world.pass(1)
    asked(settledMs)
    expect(due()).toBeUndefined()
  })

  test('as long as a hold of a lost copy is open there', () => {
    const settledMs = restored()
    ordered('a', { of: networkOf(node.aid) })
    ordered('b', { isHeld: false })
    world.pass(OVER_MS + 1)
    asked(settledMs)
    expect([openHolds(node.ctx.store, network), due()]).toEqual([[], undefined])
    ordered('c')
    expect([openHolds(node.ctx.store, network).length, due()]).toEqual([1, HOUR_MS])
    node.within(() => noteLostOrderEnd(node.ctx.store, 'c', 0))
    expect(due()).toBeUndefined()
  })
})

test('something may be missing from an hour before the first backup of those thirteen days', () => {
  const { store } = node.ctx
  const first = restored()
  world.pass(DAY_MS)
  restored()
  expect(missingSince(store, world.clock.ms)).toBe(first - 60_000 - HOUR_MS)
  world.pass(12 * DAY_MS)
  expect(missingSince(store, world.clock.ms)).toBe(first + DAY_MS - 60_000 - HOUR_MS)
})

describe('what lost copies ordered', () => {
  const spent = (since: number, to?: string) => paymentParts(node.ctx).lost.spent(since, to)

  test('is spent from its time on, and by whom it was paid to', () => {
    ordered('a')
    const at = world.clock.ms
    expect([spent(at), spent(at + 1), spent(at, 'bob'), spent(at, 'carol')]).toEqual([AMOUNT, 0, AMOUNT, 0])
  })

  test('is spent only as far as it was taken, and not where it is no payment', () => {
    for (const reason of ['refund', 'redemption']) ordered(reason, { reason })
    ordered('back')
    ordered('part')
    node.within(() => {
      noteLostOrderEnd(node.ctx.store, 'back', 0)
      noteLostOrderEnd(node.ctx.store, 'part', 2)
    })
    expect(spent(0)).toBe(2)
  })

  test('is known for thirteen days, the newest first', () => {
    const { store } = node.ctx
    const known = () => knownLostOrders(store, world.clock.ms).map(({ transaction }) => transaction)
    ordered('a')
    world.pass(DAY_MS)
    ordered('b')
    expect(known()).toEqual(['b', 'a'])
    world.pass(12 * DAY_MS)
    expect(known()).toEqual(['b', 'a'])
    world.pass(1)
    expect(known()).toEqual(['b'])
  })
})
