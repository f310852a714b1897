/** What a payee makes of each answer of a hub about a hold, and of none. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { SettlementReceipt, settlementKinds } from '../../protocol/proof/payment.ts'
import { alarmOf } from '../store/hub-accounts.ts'
import type { PaymentRow } from '../store/payments.ts'
import { HOUR_MS } from '../testing/node.ts'
import { GRANTED, PaidWorld, PayingNode, PRICE } from '../testing/paying.ts'
import type { Fault } from '../testing/scripted-credits.ts'
import { homeOnly } from './accounts.ts'
import { paymentParts } from './parts.ts'
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

const ledger = () => world.post.ledger
const row = (id: string) => bob.payment(id) as PaymentRow
const refuse = (reason: string, says?: string): Fault => ({ kind: 'refuse', reason, ...(says && { says }) })
const lost: Fault = { kind: 'lost_before' }
const forged: Fault = { kind: 'forge', in: 'signature' }
const asked = () => ledger().asked.flatMap(({ by, operation }) => (by === bob.node.aid ? [operation] : []))
const alarm = () => alarmOf(bob.node.ctx.store, world.post.log.aid)
const settled = () => bob.node.ctx.chain.read({ eventType: 'svc.payment.settled' }).length
/** One look after the pause of every question is over; what it asked. */
async function looks() {
  world.pass(10 * MINUTE_MS)
  ledger().asked.length = 0
  await bob.payee.look()
  return asked()
}
const afterEnd = (id: string, ms: number) => {
  world.clock.ms = (row(id).holdUntil ?? 0) + ms
}
function endsIdentity() {
  const { identity, keys } = bob.node.ctx
  identity.deactivate(world.clock.ms)
  bob.node.hub.list(identity.log, keys.ensureSet(identity.log, identity.seed, { bytes: 1024, perDay: 5 }))
}
/** Bob goes on from a backup, after which a copy of him that is lost has answered these tasks. */
async function restored(ids: string[]) {
  const [archive, madeAtMs] = [world.archive(bob.node), world.clock.ms]
  for (const id of ids) bob.node.say(id, 'roses are red')
  await world.turns(2)
  await bob.stop()
  const node = await world.restore(bob.node, archive, madeAtMs)
  bob = new PayingNode(node, homeOnly(node.ctx.hub))
}

describe('a payment that is to be held', () => {
  const began = async (...faults: Fault[]) => {
    const id = await world.authorized(alice, bob)
    ledger().next('settle', ...faults)
    await world.settle()
    await bob.calls.look()
    return id
  }

  test('by a receipt that does not hold is not held, and is asked for again', async () => {
    const id = await began(forged)
    expect(row(id)).toMatchObject({ state: 'authorized', problem: 'bad_receipt', heldReceipt: null })
    expect(settled()).toBe(0)
    world.pass(MINUTE_MS)
    await bob.calls.look()
    expect(row(id)).toMatchObject({ state: 'held', problem: null, tries: 0 })
    expect(settled()).toBe(1)
  })

  test.each([
    [300, 'x'.repeat(300)],
    [301, `${'x'.repeat(299)}…`],
  ])('and is refused in %i letters keeps a reason of 300', async (length, reason) => {
    const id = await began(refuse('insufficient_funds', 'x'.repeat(length)))
    expect(row(id)).toMatchObject({ state: 'refused', reason })
  })

  test('at a hub where this agent has no account waits for one', async () => {
    const id = await began(lost)
    const payee = payeeOf(bob.node.ctx, { accountOf: async () => undefined })
    bob.node.ctx.store.run("UPDATE interactions SET state = 'cancelled' WHERE id = ?", id)
    world.pass(MINUTE_MS)
    await payee.look()
    expect(row(id)).toMatchObject({ state: 'authorized', problem: 'no_account' })
  })
})

describe('an order about a hold', () => {
  test('at a hub where this agent has no account stays open, also where its identity has ended', async () => {
    const id = await world.answered(alice, bob)
    const payee = payeeOf(bob.node.ctx, { accountOf: async () => undefined })
    await payee.look()
    expect(row(id)).toMatchObject({ state: 'ending', problem: 'no_account', tries: 1 })
    endsIdentity()
    world.pass(HOUR_MS)
    await payee.look()
    expect(row(id)).toMatchObject({ state: 'ending', problem: 'no_account', tries: 2 })
  })

  test.each([
    [0, ['endHold', 'endOf']],
    [1, ['endHold', 'endHold']],
  ] as const)('that is late by five minutes and %i ms asks: %j', async (more, operations) => {
    const id = await world.answered(alice, bob)
    afterEnd(id, 5 * MINUTE_MS + more)
    ledger().asked.length = 0
    await bob.payee.look()
    expect(asked()).toEqual(operations)
    expect(row(id)).toMatchObject({ state: 'ended', moved: 0, problem: null })
  })

  test('that is late and is refused once more stays open', async () => {
    const id = await world.answered(alice, bob)
    afterEnd(id, HOUR_MS)
    ledger().next('endHold', refuse('hold_ended'), refuse('insufficient_funds'))
    await bob.payee.look()
    expect(row(id)).toMatchObject({ state: 'ending', problem: 'hold_ended', endReceipt: null })
  })

  test('that another one was before stays open where the hub refuses to show that', async () => {
    const id = await world.answered(alice, bob)
    ledger().next('endHold', refuse('hold_ended'))
    ledger().next('endOf', refuse('unknown_payer'))
    await bob.payee.look()
    expect(row(id)).toMatchObject({ state: 'ending', problem: 'hold_ended' })
  })

  test('whose hold the hub takes back by a receipt that does not hold has lost it', async () => {
    const before = ledger().snapshot()
    const id = await world.answered(alice, bob)
    ledger().restore(before)
    ledger().next('settle', forged)
    await bob.payee.look()
    expect(row(id)).toMatchObject({ state: 'ending', problem: 'hold_lost' })
    expect(alarm()).toMatch(/it knows of no such hold$/)
  })

  test('whose hold the hub takes back is given at once, and its problem is over', async () => {
    const before = ledger().snapshot()
    const id = await world.answered(alice, bob)
    ledger().restore(before)
    await bob.payee.look()
    expect(row(id)).toMatchObject({ state: 'ending', problem: null, nextAt: world.clock.ms })
    await bob.payee.look()
    expect(row(id)).toMatchObject({ state: 'ended', moved: PRICE })
  })
})

describe('a hold that a hub lost by a restore, long after its authorization', () => {
  async function restored(takesBack: boolean) {
    const before = ledger().snapshot()
    const id = await world.answered(alice, bob)
    ledger().restore(before, { told: true })
    ledger().takesBack = takesBack
    world.pass(2 * 3_600_000)
    await bob.payee.look()
    return id
  }

  test('is opened again by the receipt that the hub signed of it, and taken as it was ordered', async () => {
    const id = await restored(true)
    expect(row(id)).toMatchObject({ state: 'ending', problem: null })
    await bob.payee.look()
    expect(row(id)).toMatchObject({ state: 'ended', moved: PRICE })
    expect(alarm()).toBeUndefined()
    expect(ledger().balanceOf(bob.node.aid).balance).toBe(PRICE)
  })

  test('is lost at a hub that takes nothing back', async () => {
    const id = await restored(false)
    expect(row(id)).toMatchObject({ state: 'ending', problem: 'hold_lost' })
    expect(alarm()).toMatch(/it knows of no such hold$/)
  })
})

describe('an order that its hub had carried out, and is given again', () => {
  async function again(from: 'hold' | 'nothing') {
    const nothing = ledger().snapshot()
    const id = await world.held(alice, bob)
    const hold = ledger().snapshot()
    bob.node.say(id, 'roses are red')
    await world.turns(2)
    ledger().restore(from === 'hold' ? hold : nothing)
    const signal = AbortSignal.timeout(1000)
    await paymentParts(bob.node.ctx).comparison.compare(bob.node.hub, signal)
    expect(row(id)).toMatchObject({ state: 'ending', problem: null })
    return id
  }
  const isLost = (id: string) => {
    expect(row(id)).toMatchObject({ state: 'ending', problem: 'hold_lost', moved: PRICE })
    expect(alarm()).toMatch(/was paid to this agent, and its ledger has no such entry$/)
  }

  test('stays open where the hub refuses it for a reason that says nothing of the hold', async () => {
    const id = await again('hold')
    ledger().next('endHold', refuse('insufficient_funds'))
    await bob.payee.look()
    expect([row(id).problem, alarm()]).toEqual(['refused', undefined])
    await looks()
    expect(row(id)).toMatchObject({ state: 'ended', moved: PRICE, problem: null })
  })

  test('takes what the hub holds again, where it had forgotten the hold as well', async () => {
    const id = await again('nothing')
    await looks()
    await looks()
    expect(row(id)).toMatchObject({ state: 'ended', moved: PRICE, problem: null })
    expect([ledger().balanceOf(bob.node.aid).balance, alarm()]).toEqual([PRICE, undefined])
  })

  test('is lost where the hub says that the hold has ended', async () => {
    const id = await again('hold')
    ledger().next('endHold', refuse('hold_ended'))
    await bob.payee.look()
    isLost(id)
  })

  test('is lost where the hub signs another end', async () => {
    const id = await again('hold')
    const { body } = SettlementReceipt.decode(row(id).endReceipt ?? new Uint8Array())
    const returned = { ...body, kind: settlementKinds.returned }
    const receipt = SettlementReceipt.encode(SettlementReceipt.sign(world.post.seed, returned))
    bob.node.hub.credits.endHold = async () => ({ receipt })
    await bob.payee.look()
    isLost(id)
  })

  test('is lost where the hub shows the same end, and still no entry of it', async () => {
    const id = await again('hold')
    const receipt = row(id).endReceipt ?? new Uint8Array()
    bob.node.hub.credits.endHold = async () => ({ receipt })
    await bob.payee.look()
    isLost(id)
  })
})

describe('after the end of the identity', () => {
  test('an end by a receipt that does not hold, or none, leaves the order open with its reason', async () => {
    const id = await world.answered(alice, bob)
    ledger().next('endHold', { kind: 'lost_after' })
    await bob.payee.look()
    endsIdentity()
    ledger().next('endHold', forged)
    await looks()
    expect(row(id)).toMatchObject({ state: 'ending', problem: 'bad_receipt', endReceipt: null })
    ledger().next('endHold', refuse('hold_ended'))
    ledger().next('endOf', refuse('unknown_payer'))
    expect(await looks()).toEqual(['endHold', 'endOf'])
    expect(row(id)).toMatchObject({ state: 'ending', problem: 'refused', endReceipt: null })
  })

  test('an end is learned by the payment where the order is not answered', async () => {
    const id = await world.answered(alice, bob)
    ledger().next('endHold', { kind: 'lost_after' })
    await bob.payee.look()
    endsIdentity()
    ledger().next('endHold', lost)
    expect(await looks()).toEqual(['endHold', 'endOf'])
    expect(row(id)).toMatchObject({ state: 'ended', moved: PRICE, problem: null })
  })
})

describe('a hold that a lost copy may have ended', () => {
  test('is held on where the hub shows its end by a receipt that does not hold', async () => {
    const id = await world.held(alice, bob)
    await restored([id])
    ledger().next('endOf', forged)
    expect(await looks()).toEqual(['endOf'])
    expect(row(id)).toMatchObject({ state: 'held', problem: 'bad_receipt', endReceipt: null })
    // the hub holds it, as far as it says: the reason stays
    ledger().next('endOf', refuse('unknown_payer'))
    await looks()
    expect(row(id)).toMatchObject({ state: 'held', problem: 'bad_receipt', tries: 2 })
    await looks()
    expect(row(id)).toMatchObject({ state: 'ended', moved: PRICE, problem: null })
  })

  test('waits where this agent has no account at its hub', async () => {
    const id = await world.held(alice, bob)
    await restored([id])
    const payee = payeeOf(bob.node.ctx, { accountOf: async () => undefined })
    await payee.look()
    expect(row(id)).toMatchObject({ state: 'held', problem: 'no_account' })
  })
})

describe('a hub that is silent about one hold, and answers about the next one,', () => {
  async function two(begin: 'held' | 'answered'): Promise<string[]> {
    const ids = [await world.held(alice, bob), await world.held(alice, bob)]
    if (begin === 'answered') for (const id of ids) bob.node.say(id, 'roses are red')
    return ids
  }
  const problems = (ids: string[]) => ids.map(id => [row(id).state, row(id).problem])

  test('is believed about that: an order', async () => {
    const ids = await two('answered')
    ledger().next('endHold', lost)
    await bob.payee.look()
    expect(problems(ids)).toEqual([
      ['ending', 'unanswered'],
      ['ended', null],
    ])
  })

  test('is believed about that: the end by another order', async () => {
    const ids = await two('answered')
    ledger().next('endHold', refuse('hold_ended'))
    ledger().next('endOf', lost)
    await bob.payee.look()
    expect(problems(ids)).toEqual([
      ['ending', 'unanswered'],
      ['ended', null],
    ])
  })

  test('is believed about that: a lapse', async () => {
    const ids = await two('answered')
    afterEnd(ids[1] as string, HOUR_MS)
    ledger().next('endHold', refuse('hold_ended'), lost)
    await bob.payee.look()
    expect(problems(ids)).toEqual([
      ['ending', 'unanswered'],
      ['ended', null],
    ])
  })

  test('is believed about that: a hold that it takes back', async () => {
    const before = ledger().snapshot()
    const ids = await two('answered')
    ledger().restore(before)
    ledger().next('settle', lost)
    await bob.payee.look()
    expect(problems(ids)).toEqual([
      ['ending', 'unanswered'],
      ['ending', null],
    ])
    expect(ledger().balanceOf(alice.node.aid)).toEqual({ balance: GRANTED - PRICE, held: PRICE })
  })

  test('is believed about that: what it signed for an identity that has ended', async () => {
    const ids = await two('answered')
    ledger().next('endHold', { kind: 'lost_after' }, { kind: 'lost_after' })
    await bob.payee.look()
    endsIdentity()
    ledger().next('endHold', lost)
    ledger().next('endOf', lost)
    await looks()
    expect(problems(ids)).toEqual([
      ['ending', 'unanswered'],
      ['ended', null],
    ])
  })

  test('is believed about that: the end that a lost copy ordered', async () => {
    const ids = await two('held')
    await restored(ids)
    ledger().next('endOf', lost)
    await looks()
    expect(problems(ids)).toEqual([
      ['held', 'unanswered'],
      ['ended', null],
    ])
  })
})
