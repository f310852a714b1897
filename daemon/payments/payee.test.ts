/** What a provider does before its work, while it waits for the hub, and in each turn. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { buildEffect } from '../../protocol/proof/effect.ts'
import { Authorization, PAY_SALT_BYTES } from '../../protocol/proof/payment.ts'
import type { Quote } from '../../protocol/proof/quote.ts'
import { systemTimers, type Timers } from '../../protocol/timers.ts'
import type { Context } from '../context.ts'
import { Waker } from '../platform/waker.ts'
import type { PaymentRow } from '../store/payments.ts'
import { ANSWER_DEADLINE_MS } from '../store/threads.ts'
import { GRANTED, PaidWorld, type PayingNode, PRICE } from '../testing/paying.ts'
import { taskAsGiven } from './as-given.ts'
import { paymentParts } from './parts.ts'
import type { PaidAnswer, Payee } from './payee.ts'
import { quoteFor } from './price-check.ts'
import { payeeOf } from './x402.ts'

const MINUTE_MS = 60_000
const STARTS = 2

let world: PaidWorld
let alice: PayingNode
let bob: PayingNode

beforeEach(async () => {
  world = new PaidWorld()
  ;({ alice, bob } = await world.paid())
})
afterEach(() => world[Symbol.asyncDispose]())

const quote = (): Quote =>
  quoteFor({
    provider: bob.node.aid,
    network: world.network,
    what: 'task',
    amount: PRICE,
    seconds: ANSWER_DEADLINE_MS / 1000,
    starts: undefined,
  })
const row = (id: string) => bob.payment(id) as PaymentRow
const task = (id: string) => bob.node.thread(id)
const effect = (status: 'UNVERIFIED' | 'FAILED') => buildEffect({ status, message: 'so' })
const ran: string[] = []
const work = (id: string, more: Partial<PaidAnswer> = {}) =>
  bob.payee.paid(task(id), quote(), async () => {
    ran.push(id)
    return { effect: effect('UNVERIFIED'), ...more }
  })
const asked = (operation: string) =>
  world.post.ledger.asked.filter(one => one.operation === operation && one.by === bob.node.aid).length

/**
 * The payee of bob with other pauses; how long it slept between turns, and rested within them. A hub that hangs is waited for
 * until it is `late`.
 */
function paced(timings: Partial<Context['timings']> = {}) {
  const { ctx } = bob.node
  const noted = (list: number[]): Timers => ({
    ...systemTimers,
    after: (ms, work) => {
      list.push(ms)
      return systemTimers.after(ms, work)
    },
  })
  const [slept, rested]: [number[], number[]] = [[], []]
  const deadlines: AbortController[] = []
  const deadline = () => {
    deadlines.push(new AbortController())
    return deadlines.at(-1)?.signal as AbortSignal
  }
  const late = () => {
    for (const each of deadlines) each.abort()
  }
  const wakers = { ...ctx.wakers, payments: new Waker(noted(slept)) }
  const timers = { ...noted(rested), deadline }
  const payee = payeeOf({ ...ctx, timings: { ...ctx.timings, ...timings }, timers, wakers })
  return { payee, slept, rested, late }
}
/** How long it sleeps after its first turn. */
async function sleeps({ payee, slept }: { payee: Payee; slept: number[] }): Promise<number | undefined> {
  payee.start()
  await expect.poll(() => slept.length).toBeGreaterThan(0)
  await payee.stop()
  return slept[0]
}

describe('before it works', () => {
  beforeEach(() => void ran.splice(0))

  test('a task that came without a payment is answered with the price', async () => {
    const { id } = alice.node.delegate(bob.node)
    await world.settle()
    const answer = await work(id)
    expect(answer).toMatchObject({ effect: { status: 'PAYMENT_REQUIRED' }, quote: quote() })
    expect([ran, bob.payment(id)]).toEqual([[], undefined])
  })

  test('a payment of another amount is answered with the price, and why it was not taken', async () => {
    const id = await world.authorized(alice, bob)
    await world.settle()
    const dearer = { ...quote(), amount: PRICE + 1 }
    const answer = await bob.payee.held(task(id), dearer)
    expect(answer).toMatchObject({
      effect: { status: 'PAYMENT_REQUIRED', message: expect.stringMatching(/5 came$/) },
      quote: dearer,
    })
    expect(bob.payment(id)).toBeUndefined()
  })

  test('a payment that names no task pays for one request', async () => {
    const { signer } = paymentParts(alice.node.ctx)
    const { threads } = alice.node.ctx
    const terms = { payTo: bob.node.aid, amount: PRICE, network: world.network }
    const { holdSeconds } = quote()
    const authorization = Authorization.encode(signer.sign({ ...terms, holdSeconds }))
    const paySalt = new Uint8Array(PAY_SALT_BYTES)
    const given = taskAsGiven(threads, alice.node.delegate(bob.node))
    const commit = () => alice.node.tasks.committed.commit(given, () => ({ paySalt, authorization }))
    const [first, second] = [alice.node.within(commit), alice.node.within(commit)]
    await world.settle()
    const local = (id: string) => ({ ...task(id), way: 'local' as const })
    expect(await bob.payee.held(local(first.id), quote())).toMatchObject({ state: 'held' })
    expect(await bob.payee.held(local(second.id), quote())).toMatchObject({
      effect: { message: 'the payment was used for another task' },
    })
    expect(bob.payment(second.id)).toBeUndefined()
  })

  test('a payment that came in is kept as it came, and costs its price from the start', async () => {
    const id = await world.held(alice, bob)
    const { authorization, salt, payment, holdUntil } = alice.payment(id) as PaymentRow
    expect(bob.payment(id)).toMatchObject({
      ...{ side: 'payee', amount: PRICE, network: world.network, authorization, salt, payment, holdUntil },
      ...{ orderedBy: null, starts: PRICE, beganAt: null, problem: null },
    })
  })

  test('a payment that the hub refuses is answered with the price, and what the hub said', async () => {
    const id = await world.authorized(alice, bob)
    await world.settle()
    world.post.ledger.next('settle', { kind: 'refuse', reason: 'insufficient_funds' })
    const answer = await work(id)
    expect(answer?.effect).toMatchObject({
      status: 'PAYMENT_REQUIRED',
      message: 'the payer has too few credits',
    })
    expect([ran, bob.payment(id)?.state]).toEqual([[], 'refused'])
  })

  test('a silent hub is asked until four minutes after the payment was good, and then that is said', async () => {
    const id = await world.authorized(alice, bob)
    await world.settle()
    world.post.ledger.always('settle', { kind: 'lost_before' })
    expect(await work(id)).toBeUndefined()
    const { notAfter } = Authorization.decode(row(id).authorization).body
    world.clock.ms = notAfter + 4 * MINUTE_MS
    expect(await work(id)).toBeUndefined()
    world.pass(1)
    expect(await work(id)).toMatchObject({
      effect: { status: 'PAYMENT_REQUIRED', message: 'the hub did not answer while the payment was good' },
      quote: quote(),
    })
    expect(ran).toEqual([])
    // a hub that answers late is believed
    world.post.ledger.heal()
    expect((await work(id))?.effect.message).toBe('its time is over')
  })

  test('work that is paid for is done once, and told with both receipts as often as it is asked for', async () => {
    const id = await world.held(alice, bob)
    const first = await work(id)
    expect(await work(id)).toEqual(first)
    expect(first?.settlements).toEqual([row(id).heldReceipt, row(id).endReceipt])
    expect(ran).toEqual([id])
  })

  test('work that was cut short leaves its credits held, and is done again', async () => {
    const id = await world.held(alice, bob)
    const cut = await bob.payee.paid(task(id), quote(), async () => undefined)
    expect([cut, row(id).state]).toEqual([undefined, 'held'])
    expect((await work(id))?.effect.status).toBe('UNVERIFIED')
  })

  test.each([true, false, undefined])(
    'what came of it stays private where it is said to be: %s',
    async is => {
      const id = await world.held(alice, bob)
      const answer = await work(id, is === undefined ? {} : { isPrivate: is })
      expect([answer?.isPrivate, row(id).outcomePrivate]).toEqual([is === true, is === true ? 1 : 0])
    },
  )
})

describe('what it takes', () => {
  const proposes = (by: PayingNode) => async (id: string) => {
    by.node.within(() => by.node.tasks.endings.propose(by.node.thread(id)))
    await world.settle()
  }
  const accepts = (by: PayingNode) => async (id: string) => {
    by.node.within(() => by.node.tasks.endings.accept(by.node.thread(id)))
    await world.settle()
  }
  const cancels = async (id: string) => {
    alice.node.within(() => alice.node.tasks.leaving.cancel(alice.node.thread(id), ''))
    await world.settle()
  }
  type Step = (id: string) => Promise<void>
  const rows: [string, number, () => Step[]][] = [
    ['nothing happened', PRICE, () => []],
    ['its provider proposed the end', PRICE, () => [proposes(bob)]],
    ['its provider proposed the end and it is over', 0, () => [proposes(bob), accepts(alice)]],
    ['its requester proposed the end', STARTS, () => [proposes(alice)]],
    ['its requester proposed the end and it is over', STARTS, () => [proposes(alice), accepts(bob)]],
    ['its requester withdrew it', STARTS, () => [cancels]],
  ]

  test.each(rows)('for work during which %s is %i', async (_, moved, steps) => {
    const id = await world.held(alice, bob)
    bob.node.ctx.store.run('UPDATE payments SET starts = ?', STARTS)
    await bob.payee.paid(task(id), quote(), async () => {
      for (const step of steps()) await step(id)
      return { effect: effect('UNVERIFIED') }
    })
    expect(row(id)).toMatchObject({ state: 'ended', moved })
    expect(world.post.ledger.balanceOf(bob.node.aid).balance).toBe(moved)
  })

  test('for work that was withdrawn is nothing where an earlier release kept no price of its start', async () => {
    const id = await world.held(alice, bob)
    bob.node.ctx.store.run('UPDATE payments SET starts = NULL')
    bob.payee.begun(row(id))
    await cancels(id)
    await bob.payee.look()
    expect(row(id)).toMatchObject({ state: 'ended', moved: 0 })
  })
})

describe('a result that waits for the hub', () => {
  test('is told at once where the hub refuses the order', async () => {
    const id = await world.held(alice, bob)
    world.post.ledger.always('endHold', { kind: 'refuse', reason: 'insufficient_funds' })
    const answer = await work(id)
    expect([answer?.settlements, asked('endHold')]).toEqual([[row(id).heldReceipt], 1])
    expect(row(id)).toMatchObject({ state: 'ending', problem: 'refused' })
  })

  test('waits longer each time, until it has waited as long as thirty first pauses', async () => {
    const id = await world.held(alice, bob)
    world.post.ledger.always('endHold', { kind: 'lost_before' })
    const { payee, rested } = paced()
    await payee.paid(task(id), quote(), async () => ({ effect: effect('UNVERIFIED') }))
    expect(rested).toEqual([1, 2, 4, 8, 16])
    expect(asked('endHold')).toBe(6)
  })

  test('waits no more than thirty first pauses at once', async () => {
    const id = await world.held(alice, bob)
    world.post.ledger.always('endHold', { kind: 'lost_before' })
    bob.node.ctx.store.run('UPDATE payments SET tries = 10')
    const { payee, rested } = paced()
    await payee.paid(task(id), quote(), async () => ({ effect: effect('UNVERIFIED') }))
    expect([rested, asked('endHold')]).toEqual([[30], 2])
  })

  test('is not ordered beside that by a turn, and is by the next one after it was told', async () => {
    const id = await world.held(alice, bob)
    world.post.ledger.always('endHold', { kind: 'hang' })
    const { payee, late } = paced({ paymentPauseMs: 0 })
    const answer = payee.paid(task(id), quote(), async () => ({ effect: effect('UNVERIFIED') }))
    await expect.poll(() => asked('endHold')).toBe(1)
    await payee.look()
    expect(asked('endHold')).toBe(1)
    late()
    expect((await answer)?.effect.status).toBe('UNVERIFIED')
    world.post.ledger.heal()
    await payee.look()
    expect([asked('endHold'), row(id).state]).toEqual([2, 'ended'])
  })

  test('is none where words have answered the task', async () => {
    const id = await world.answered(alice, bob)
    expect(await work(id)).toBeUndefined()
    expect(row(id)).toMatchObject({ state: 'ended', moved: PRICE, outcome: null })
    expect(bob.payee.keep(task(id), { effect: effect('FAILED') })).toBe(false)
  })
})

describe('a turn', () => {
  test('asks about 64 orders, and the next one about more', async () => {
    const id = await world.answered(alice, bob)
    await world.copies(alice, bob, id, 64)
    world.post.ledger.always('endHold', { kind: 'lost_before' })
    await bob.payee.look()
    expect(asked('endHold')).toBe(64)
    await bob.payee.look()
    expect(asked('endHold')).toBe(65)
  })

  test('asks no further once the node stops', async () => {
    const id = await world.answered(alice, bob)
    await world.copies(alice, bob, id, 1)
    world.post.ledger.always('endHold', { kind: 'hang' })
    const { payee } = paced()
    const turn = payee.look()
    await expect.poll(() => asked('endHold')).toBe(1)
    await payee.stop()
    await turn
    expect(asked('endHold')).toBe(1)
  })

  test('gives back a hold five minutes after its end, by the clock of its hub', async () => {
    const id = await world.held(alice, bob)
    world.clock.ms = (row(id).holdUntil ?? 0) + 5 * MINUTE_MS - 1
    await bob.payee.look()
    expect([row(id).state, asked('endHold')]).toEqual(['held', 0])
    world.pass(1)
    await bob.payee.look()
    expect(row(id)).toMatchObject({ state: 'ended', moved: 0 })
    expect(row(id).endReceipt).not.toBeNull()
  })

  test('asks nobody about a hold of a task that goes on, on a node that was never restored', async () => {
    const id = await world.held(alice, bob)
    world.post.ledger.asked.length = 0
    await bob.payee.look()
    expect([world.post.ledger.asked, row(id).tries]).toEqual([[], 0])
  })

  test('opens anew what an earlier release took for ended once in the life of a node', async () => {
    const id = await world.answered(alice, bob)
    await bob.payee.look()
    bob.node.ctx.store.run('UPDATE payments SET end_receipt = NULL')
    await bob.payee.look()
    expect(row(id).state).toBe('ended')
  })

  test('gives back the credits of a task that was withdrawn, and keeps why', async () => {
    const id = await world.held(alice, bob)
    alice.node.within(() => alice.node.tasks.leaving.cancel(alice.node.thread(id), ''))
    await world.settle()
    await bob.payee.look()
    expect(row(id)).toMatchObject({ state: 'ended', moved: 0 })
    expect(asked('endHold')).toBe(1)
    expect(world.post.ledger.balanceOf(alice.node.aid).balance).toBe(GRANTED)
  })

  test('comes after a minute where nothing is open', async () => {
    expect(await sleeps(paced())).toBe(MINUTE_MS)
  })

  test.each([
    ['when the next question is due', 5000, 5000],
    ['after a second where one is due before that', 1, 1000],
    ['after a minute where none is due before that', MINUTE_MS + 1, MINUTE_MS],
  ])('comes %s', async (_, paymentPauseMs, ms) => {
    await world.answered(alice, bob)
    world.post.ledger.always('endHold', { kind: 'lost_before' })
    await paced({ paymentPauseMs }).payee.look()
    expect(await sleeps(paced())).toBe(ms)
  })

  test('comes after a minute where the identity has ended', async () => {
    await world.answered(alice, bob)
    world.post.ledger.always('endHold', { kind: 'lost_before' })
    bob.node.ctx.identity.deactivate(world.clock.ms)
    expect(await sleeps(paced())).toBe(MINUTE_MS)
  })
})
