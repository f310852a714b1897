/** What a copy of a node that is lost has paid for a task is not paid again without a person. */

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { cidText } from '../../protocol/crypto/hash.ts'
import { balancesOf, taskReading } from '../control/parts.ts'
import { quoteOf } from '../store/quotes.ts'
import { HOUR_MS } from '../testing/node.ts'
import { PaidWorld, type PayingNode, PRICE } from '../testing/paying.ts'
import { type LostPayment, sayPaid } from './lost-payments.ts'
import { paymentParts } from './parts.ts'

const AUTO = { auto_max: PRICE, agent_max: 0, day_max: 4 * PRICE, payee_day_max: 4 * PRICE }

let world: PaidWorld
let alice: PayingNode
let bob: PayingNode

beforeEach(async () => {
  world = new PaidWorld()
  ;({ alice, bob } = await world.paid())
  for (const [node, peer] of [
    [alice.node, bob.node],
    [bob.node, alice.node],
  ] as const)
    node.within(() => node.ctx.contacts.add(peer.aid, 'friend'))
  alice.node.ctx.settings.change({ spend: AUTO })
})
afterEach(() => world[Symbol.asyncDispose]())

const delegated = (by: PayingNode, more: object = {}) =>
  by.node.tasks.delegation.delegate({ to: bob.node.aid, task: 'a poem', ...more })
const viewOf = (by: PayingNode, id: string) => taskReading(by.node.ctx).payments.of(by.node.thread(id))
const paidAs = (by: PayingNode, id: string) => {
  const key = quoteOf(by.node.ctx.store, by.node.thread(id).key)?.paidAs ?? null
  return key === null ? undefined : by.node.ctx.threads.byKey(key).id
}
const holds = async (): Promise<number> => {
  const entries = await world.post.ledger.creditsOf(alice.node.aid).entriesAfter(0, AbortSignal.timeout(1000))
  return entries.filter(({ reason }) => reason === 'held').length
}

/** Alice goes on from a backup, and asks her correspondents what they hold. */
async function restored(archive: string, madeAtMs: number, isAsking = true): Promise<PayingNode> {
  await alice.stop()
  const again = world.pays(await world.restore(alice.node, archive, madeAtMs))
  if (isAsking) again.node.askNumbers()
  return again
}

/** A task whose price a lost copy of alice has paid, and that bob has answered. */
async function paidOnce(given: object = {}) {
  const id = delegated(alice, given)
  const [archive, madeAtMs] = [world.archive(alice.node), world.clock.ms]
  await world.turns(4)
  const lost = paidAs(alice, id)
  if (lost === undefined) throw new Error('the price was not paid')
  bob.node.say(lost, 'roses are red')
  await world.turns(4)
  expect(bob.payment(lost)).toMatchObject({ state: 'ended', moved: PRICE })
  world.pass(60_000)
  return { id, lost, archive, madeAtMs }
}

describe('a price that a lost copy has paid', () => {
  test.each([
    ['a rule', {}],
    ['a yes that was given with the task', { pay: true, max_credits: PRICE }],
  ])('is not paid again by %s, and says by what it was paid', async (_, given) => {
    const { id, lost, archive, madeAtMs } = await paidOnce(given)
    const again = await restored(archive, madeAtMs)
    await world.turns(6)
    expect(await holds()).toBe(1)
    const payment = bob.payment(lost)?.payment ?? new Uint8Array()
    expect(viewOf(again, id)).toMatchObject({
      state: 'open',
      lost_payments: [{ state: 'signed', transaction: cidText(payment), amount: PRICE, lost_task: lost }],
    })
    expect(viewOf(again, id)?.reason).toMatch(
      /paid 5 credits to this agent at .*Z for .* \(as its hub shows\)/,
    )
    expect(taskReading(again.node.ctx).restored.view()?.orders).toMatchObject([
      { state: 'signed', amount: PRICE },
    ])
  })

  test('is not paid again where the hub shows no order for it, and says that', async () => {
    const { id, archive, madeAtMs } = await paidOnce()
    world.post.ledger.keepsAuthorizations = false
    const again = await restored(archive, madeAtMs)
    await world.turns(6)
    expect(await holds()).toBe(1)
    const view = viewOf(again, id)
    expect(view).toMatchObject({ state: 'open', lost_payments: [{ state: 'unproven', amount: PRICE }] })
    expect(view?.reason).toContain('(as its hub says without showing an order)')
  })

  test('is paid again by the rules where it came back', async () => {
    const id = delegated(alice)
    const [archive, madeAtMs] = [world.archive(alice.node), world.clock.ms]
    await world.turns(3)
    const lost = paidAs(alice, id) ?? ''
    alice.node.within(() => alice.node.tasks.leaving.cancel(alice.node.thread(lost), ''))
    await world.turns(4)
    expect(bob.payment(lost)).toMatchObject({ state: 'ended', moved: 0 })
    const again = await restored(archive, madeAtMs)
    await world.turns(6)
    expect(paidAs(again, id)).toBeDefined()
    expect(await holds()).toBe(2)
  })

  test('is paid again by a person who says so, and by no other', async () => {
    const { id, archive, madeAtMs } = await paidOnce()
    const again = await restored(archive, madeAtMs)
    await world.turns(6)
    const pay = (more = {}) => again.payer.pay(again.node.thread(id), more)
    expect(() => pay()).toThrow(expect.objectContaining({ next: `svc approve ${id} --again` }))
    expect(await holds()).toBe(1)
    pay({ again: true })
    await world.turns(3)
    expect(await holds()).toBe(2)
  })

  test('counts for the limits of the day, without what came back of it', async () => {
    const { archive, madeAtMs } = await paidOnce()
    const again = await restored(archive, madeAtMs)
    const { ctx } = again.node
    expect(paymentParts(ctx).lost.spent(0, undefined)).toBe(0)
    await world.turns(4)
    const spent = (to?: string) => paymentParts(ctx).lost.spent(0, to)
    expect([spent(), spent(bob.node.aid), spent('Aother')]).toEqual([PRICE, PRICE, 0])
    expect(paymentParts(ctx).lost.spent(world.clock.ms, undefined)).toBe(0)
  })

  test('stands in the account as what became of it', async () => {
    const { lost, archive, madeAtMs } = await paidOnce()
    const again = await restored(archive, madeAtMs)
    await world.turns(4)
    const { entries } = await balancesOf(again.node.ctx).at(again.node.hub)
    expect(entries.find(({ lost_task }) => lost_task === lost)).toMatchObject({
      reason: 'paid',
      payment: 'taken',
      paid: PRICE,
    })
  })
})

describe('a price that nobody has paid', () => {
  /** Alice delegated it before her backup, and bob was away until after her restore. */
  async function unpaid(isAsking = true) {
    const id = delegated(alice)
    const [archive, madeAtMs] = [world.archive(alice.node), world.clock.ms]
    world.pass(HOUR_MS / 2)
    return { id, again: await restored(archive, madeAtMs, isAsking) }
  }

  test('is paid by the rules once the hub and the other side were heard', async () => {
    const { id, again } = await unpaid()
    await world.turns(6)
    expect(paidAs(again, id)).toBeDefined()
    expect(await holds()).toBe(1)
  })

  test('waits for the hub, and says so; a task that came after the restore does as well', async () => {
    const { id, again } = await unpaid()
    world.post.ledger.always('account', { kind: 'lost_before' })
    const later = delegated(again)
    await world.turns(6)
    for (const each of [id, later]) {
      expect(paidAs(again, each)).toBeUndefined()
      expect(viewOf(again, each)).toMatchObject({ state: 'open', waits_for: 'hub' })
    }
    world.post.ledger.heal()
    await world.turns(4)
    expect(await holds()).toBe(2)
  })

  test('waits for the other side, and says so; a task that came after the restore does not', async () => {
    const { id, again } = await unpaid(false)
    const later = delegated(again)
    await world.turns(6)
    expect(paidAs(again, later)).toBeDefined()
    expect(paidAs(again, id)).toBeUndefined()
    expect(viewOf(again, id)).toMatchObject({ state: 'open', waits_for: 'peer' })
    again.node.askNumbers()
    await world.turns(4)
    expect(paidAs(again, id)).toBeDefined()
  })
})

test('a task that came after the restore of a backup without any waits for nobody', async () => {
  const [archive, madeAtMs] = [world.archive(alice.node), world.clock.ms]
  world.pass(HOUR_MS / 2)
  const again = await restored(archive, madeAtMs, false)
  world.pass(1)
  const id = delegated(again)
  await world.turns(6)
  expect(paidAs(again, id)).toBeDefined()
})

test('three payments that are lost are named, and more are counted', () => {
  const payments = (count: number): LostPayment[] =>
    Array.from({ length: count }, (_, n) => ({ state: 'signed', amount: n + 1, atMs: 0 }))
  const named = (count: number) => sayPaid(payments(count)).match(/credits to this agent/g)?.length
  expect([named(1), named(3), named(5)]).toEqual([1, 3, 3])
  expect(sayPaid(payments(3))).not.toContain('times more')
  expect(sayPaid(payments(5))).toContain(' and 2 times more, maybe for this task')
  expect(sayPaid([{ state: 'said', lostTask: 'abc' }])).toContain(
    'paid credits to this agent for abc (as the other side says)',
  )
})
