/** A hub that does not have what it signed: what of that is known, said and proven, and until when. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { cidText } from '../../protocol/crypto/hash.ts'
import { alarmOf, raiseAlarm } from '../store/hub-accounts.ts'
import type { PaymentRow } from '../store/payments.ts'
import { HOUR_MS } from '../testing/node.ts'
import { PaidWorld, type PayingNode, PRICE } from '../testing/paying.ts'
import { isAccepted, lostFault, orderedAgain } from './lost-holds.ts'
import { paymentParts } from './parts.ts'
import { auditOf } from './x402.ts'

let world: PaidWorld
let alice: PayingNode
let bob: PayingNode

beforeEach(async () => {
  world = new PaidWorld()
  ;({ alice, bob } = await world.paid())
})
afterEach(() => world[Symbol.asyncDispose]())

const row = (id: string) => bob.payment(id) as PaymentRow
const hubAid = () => world.post.log.aid
const alarm = () => alarmOf(bob.node.ctx.store, hubAid())
const proofs = () => bob.node.ctx.chain.read({ eventType: 'svc.payment.lost' }).length
const parts = () => paymentParts(bob.node.ctx)
const lost = () => parts().lostHolds.at(bob.node.hub, AbortSignal.timeout(1000))
const refuse = () =>
  world.post.ledger.always('settle', { kind: 'refuse', reason: 'invalid_payload', says: 'no such hold' })

describe('what a hub holds for this agent', () => {
  test('is known as it stands, and nothing is written about it', async () => {
    const id = await world.held(alice, bob)
    expect(await lost()).toEqual([])
    expect([row(id).problem, row(id).tries, proofs()]).toEqual([null, 0, 0])
  })

  test('is lost where it says no more of it, which is proven once, and is known again once it does', async () => {
    const id = await world.held(alice, bob)
    refuse()
    for (let n = 0; n < 2; n++) {
      expect(await lost()).toMatchObject([{ interaction: row(id).interaction }])
      expect([row(id).problem, row(id).tries, proofs()]).toEqual(['hold_lost', 1, 1])
    }
    world.post.ledger.heal()
    expect(await lost()).toEqual([])
    expect([row(id).problem, row(id).tries, proofs()]).toEqual([null, 2, 1])
  })

  test('is lost where it shows that by a receipt that does not hold', async () => {
    const id = await world.held(alice, bob)
    world.post.ledger.always('settle', { kind: 'forge', in: 'signature' })
    expect(await lost()).toHaveLength(1)
    expect([row(id).problem, proofs()]).toEqual(['hold_lost', 1])
  })

  test('is asked about as far as it is among the 64 newest', async () => {
    const id = await world.held(alice, bob)
    await world.copies(alice, bob, id, 64)
    world.post.ledger.asked.length = 0
    refuse()
    expect(await lost()).toHaveLength(64)
    expect(world.post.ledger.asked).toHaveLength(64)
    expect(row(id).problem).toBeNull()
  })

  test('is not asked about where an order for it is on its way, which says whether it is lost', async () => {
    const id = await world.answered(alice, bob)
    world.post.ledger.asked.length = 0
    refuse()
    expect([await lost(), world.post.ledger.asked]).toEqual([[], []])
    parts().lostHolds.note(bob.node.hub, row(id))
    bob.node.ctx.store.run("UPDATE payments SET problem = 'hold_lost'")
    expect(await lost()).toMatchObject([{ state: 'ending' }])
    expect(world.post.ledger.asked).toEqual([])
  })
})

describe('a loss', () => {
  test('is said and proven once, and heard where the user looks', async () => {
    const id = await world.held(alice, bob)
    parts().lostHolds.note(bob.node.hub, row(id))
    expect([alarm(), proofs()]).toEqual([lostFault(row(id)), 1])
    expect(bob.node.heard.filter(({ type }) => type === 'hub')).toHaveLength(1)
    parts().lostHolds.note(bob.node.hub, { ...row(id), problem: 'hold_lost' })
    expect(proofs()).toBe(1)
  })

  test('leaves an earlier alarm of that hub as it was', async () => {
    const id = await world.held(alice, bob)
    bob.node.within(() => raiseAlarm(bob.node.ctx.store, hubAid(), 'its ledger is short'))
    parts().lostHolds.note(bob.node.hub, row(id))
    expect([alarm(), proofs()]).toEqual(['its ledger is short', 1])
  })

  test('names the payment, and of a hold its amount', async () => {
    const id = await world.held(alice, bob)
    const { payment } = row(id)
    expect(lostFault({ payment, amount: 5, endReceipt: null })).toBe(
      `it signed that it holds 5 credits for this agent by ${cidText(payment)}, and it knows of no such hold`,
    )
    expect(lostFault({ payment, amount: 5, endReceipt: new Uint8Array() })).toBe(
      `it signed that ${cidText(payment)} was paid to this agent, and its ledger has no such entry`,
    )
  })
})

describe('a person who goes on with a hub', () => {
  test('accepts the loss of all that it had signed until then, and of nothing later', async () => {
    const id = await world.held(alice, bob)
    const signedAt = world.clock.ms - 1000
    const accepted = (at: number) => {
      world.clock.ms = at
      auditOf(bob.node.ctx).accept(hubAid())
      return isAccepted(bob.node.ctx.store, row(id))
    }
    expect([accepted(signedAt - 1), accepted(signedAt)]).toEqual([false, true])
    parts().lostHolds.note(bob.node.hub, row(id))
    expect([alarm(), proofs()]).toEqual([undefined, 1])
  })

  test('hears no more of what is lost, also where the hub dates it later', async () => {
    await world.held(alice, bob)
    refuse()
    expect(await lost()).toHaveLength(1)
    world.pass(-HOUR_MS)
    auditOf(bob.node.ctx).accept(hubAid())
    expect(await lost()).toEqual([])
  })
})

test('what is ordered again counts while its hub has not lost it, and as far as it had moved', async () => {
  const id = await world.held(alice, bob)
  const { store } = bob.node.ctx
  const counted = (set: string) => {
    store.run(`UPDATE payments SET ${set} WHERE interaction = ?`, row(id).interaction)
    return orderedAgain(store, world.network)
  }
  expect(counted(`end_receipt = held_receipt, moved = ${PRICE}`)).toBe(0)
  expect(counted("state = 'ending'")).toBe(PRICE)
  expect(counted("problem = 'unanswered'")).toBe(PRICE)
  expect(counted("problem = 'hold_lost'")).toBe(0)
  expect(counted('problem = NULL, end_receipt = NULL')).toBe(0)
  expect(counted('end_receipt = held_receipt, moved = NULL')).toBe(0)
})
