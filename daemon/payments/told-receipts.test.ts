/** What a provider sends as receipts of a hub: what proves something is recorded, anything else changes no state. */

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { cidText, contentId } from '../../protocol/crypto/hash.ts'
import { toBase64, utf8 } from '../../protocol/encoding/bytes.ts'
import { encodePayload, kinds } from '../../protocol/mail/payload.ts'
import {
  type SettlementBody,
  type SettlementKind,
  SettlementReceipt,
  settlementKinds,
} from '../../protocol/proof/payment.ts'
import { taskReading } from '../control/parts.ts'
import { alarmOf } from '../store/hub-accounts.ts'
import { noteRefusalSaid } from '../store/payments.ts'
import { HOUR_MS } from '../testing/node.ts'
import { GRANTED, PaidWorld, type PayingNode, PRICE } from '../testing/paying.ts'
import { accountFault } from './account.ts'
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

const shown = (by: PayingNode, id: string) => taskReading(by.node.ctx).payments.of(by.node.thread(id))
const settled = () =>
  alice.node.ctx.chain
    .read({ eventType: 'svc.payment.settled' })
    .map(({ payload }) => payload as Record<string, unknown>)
const later = async () => {
  world.pass(600_000)
  await world.turns(2)
}

/** Sends receipts beside the conversation, as bob's node does with what its hub said late. */
async function sends(id: string, ...settlements: Uint8Array[]): Promise<void> {
  const payload = encodePayload(kinds.settlements, { settlements })
  const { threads } = bob.node.ctx
  const outgoing = { kind: kinds.settlements, payload, text: '', numbered: false }
  bob.node.within(() => threads.queue(bob.node.thread(id), outgoing))
  await world.settle()
  await alice.payer.look()
}

/** A receipt of the hub about the payment of a task, but for what is changed. */
function receipt(
  id: string,
  kind: SettlementKind,
  changes: Partial<SettlementBody> = {},
  seed = world.post.seed,
): Uint8Array {
  const row = alice.payment(id)
  const held = SettlementReceipt.decode(bob.payment(id)?.heldReceipt as Uint8Array).body
  const { holdUntil, ...body } = held
  const until = kind === settlementKinds.held ? { holdUntil: holdUntil as number } : {}
  const amount = row?.amount ?? 0
  return SettlementReceipt.encode(
    SettlementReceipt.sign(seed, { ...body, ...until, kind, amount, ...changes }),
  )
}

const OTHER = contentId(utf8('another payment'))
const { held, captured, returned } = settlementKinds
const forged: [string, SettlementKind, Partial<SettlementBody>, Uint8Array?][] = [
  ['of a hold with a foreign signature', held, {}, new Uint8Array(32).fill(5)],
  ['of a hold for another payment', held, { transaction: OTHER }],
  ['of a hold with another amount', held, { amount: PRICE + 1 }],
  ['of a capture with a foreign signature', captured, {}, new Uint8Array(32).fill(5)],
  ['of a capture of another payment', captured, { transaction: OTHER }],
  ['of a return with a foreign signature', returned, {}, new Uint8Array(32).fill(5)],
]

describe('a receipt', () => {
  test.each(forged)(
    '%s changes no state, and is told as a fault of the provider',
    async (_, kind, changes, seed) => {
      const id = await world.held(alice, bob)
      const before = alice.payment(id)
      await sends(id, receipt(id, kind, changes, seed))
      expect(alice.payment(id)).toMatchObject({
        state: before?.state,
        moved: null,
        heldReceipt: before?.heldReceipt,
        endReceipt: null,
        problem: 'false_receipt',
      })
      expect(shown(alice, id)).toMatchObject({ problem: 'false_receipt' })
      expect(settled()).toEqual([])
      expect(
        world.post.ledger.asked.some(({ by, operation }) => by === alice.node.aid && operation === 'account'),
      ).toBe(true)
      bob.node.say(id, 'roses are red')
      await world.turns(2)
      expect(alice.payment(id)).toMatchObject({ state: 'ended', moved: PRICE })
    },
  )

  test('that comes after the answer went without it is recorded, and stands in no transcript', async () => {
    const id = await world.answered(alice, bob)
    world.post.ledger.next('endHold', { kind: 'refuse', reason: 'insufficient_funds' })
    await bob.payee.look()
    await world.settle()
    expect(alice.node.messages(id).some(({ text }) => text === 'roses are red')).toBe(true)
    expect(alice.payment(id)?.endReceipt).toBeNull()
    await later()
    expect(alice.payment(id)).toMatchObject({ state: 'ended', moved: PRICE })
    expect(settled().map(({ verified }) => verified)).toEqual([true, true])
    expect(bob.node.thread(id).numbered).toBe(1)
  })

  test('of what went back reaches the payer of a task that was withdrawn', async () => {
    const id = await world.held(alice, bob)
    alice.node.within(() => alice.node.tasks.leaving.cancel(alice.node.thread(id), 'no longer wanted'))
    await world.settle()
    await bob.payee.look()
    await world.turns(2)
    expect(world.post.ledger.balanceOf(alice.node.aid)).toEqual({ balance: GRANTED, held: 0 })
    expect(alice.payment(id)).toMatchObject({ state: 'ended', moved: 0 })
    expect(settled().at(-1)).toMatchObject({ amount: 0, verified: true })
  })
})

test('a payer sees that the hub still holds what a withdrawn task had, and until when', async () => {
  const id = await world.held(alice, bob)
  world.post.ledger.always('endHold', { kind: 'lost_before' })
  alice.node.within(() => alice.node.tasks.leaving.cancel(alice.node.thread(id), 'no longer wanted'))
  await later()
  expect(shown(alice, id)).toMatchObject({ problem: 'still_held', held_until: alice.payment(id)?.holdUntil })
  world.post.ledger.heal()
  await later()
  expect(shown(alice, id)).toMatchObject({ state: 'returned' })
})

describe('a hub that lost a hold', () => {
  const alarm = () => world.post.log.aid
  test('is given the authorization again while that is good, and its payee is paid', async () => {
    const before = world.post.ledger.snapshot()
    const id = await world.answered(alice, bob)
    world.post.ledger.restore(before)
    await bob.payee.look()
    await later()
    expect(bob.payment(id)).toMatchObject({ state: 'ended', moved: PRICE })
    expect(alarmOf(bob.node.ctx.store, alarm())).toBeUndefined()
  })

  test('and does not take it back ends payments in its credits, with its receipt as the proof', async () => {
    const before = world.post.ledger.snapshot()
    const id = await world.answered(alice, bob)
    world.post.ledger.restore(before)
    world.pass(2 * HOUR_MS)
    await bob.payee.look()
    expect(bob.payment(id)).toMatchObject({ state: 'ending', problem: 'hold_lost', moved: null })
    expect(bob.payment(id)?.heldReceipt).not.toBeNull()
    expect(alarmOf(bob.node.ctx.store, alarm())).toMatch(
      /signed that it holds 5 credits .* knows of no such hold/,
    )
  })

  const proofs = () => bob.node.ctx.chain.read({ eventType: 'svc.payment.lost' })
  /** A task of which the hub has forgotten the hold, and bob knows. */
  async function lost(): Promise<string> {
    const before = world.post.ledger.snapshot()
    const id = await world.answered(alice, bob)
    world.post.ledger.restore(before)
    world.pass(2 * HOUR_MS)
    await bob.payee.look()
    return id
  }
  const answer = async (): Promise<string> => {
    const id = alice.node.tasks.delegation.delegate({ to: bob.node.aid, task: 'another poem' })
    await world.turns(2)
    return alice.node.messages(id).find(({ direction }) => direction === 'in')?.text ?? ''
  }

  test('is proven in the chain of its payee, once', async () => {
    const id = await lost()
    await later()
    await later()
    const { payment, heldReceipt } = bob.payment(id) ?? {}
    if (payment === undefined || heldReceipt === null || heldReceipt === undefined) throw new Error('no hold')
    expect(proofs().map(({ payload }) => payload)).toEqual([
      {
        interaction_id: id,
        transaction: cidText(payment),
        amount: PRICE,
        network: world.network,
        receipt: toBase64(heldReceipt),
      },
    ])
  })

  test('gets no new paid work for its credits from this payee until a person says so', async () => {
    await lost()
    expect(await answer()).toMatch(/^UNAVAILABLE: .* contradicts what it signed/)
    auditOf(bob.node.ctx).accept(alarm())
    expect(await answer()).toMatch(/costs 5 credits/)
    // what the person knew is no new alarm
    await later()
    const view = await paymentParts(bob.node.ctx).comparison.compare(bob.node.hub, AbortSignal.timeout(100))
    expect([view.lost, alarmOf(bob.node.ctx.store, alarm())]).toEqual([[], undefined])
    expect(await answer()).toMatch(/costs 5 credits/)
  })

  test('is found out before there is an answer, when the account is compared', async () => {
    const before = world.post.ledger.snapshot()
    const id = await world.held(alice, bob)
    world.post.ledger.restore(before)
    world.pass(2 * HOUR_MS)
    const view = await paymentParts(bob.node.ctx).comparison.compare(bob.node.hub, AbortSignal.timeout(100))
    expect(view.lost).toMatchObject([{ problem: null, state: 'held' }])
    expect(accountFault(view)).toMatch('knows of no such hold')
    expect(bob.payment(id)).toMatchObject({ state: 'held', problem: 'hold_lost' })
    expect(proofs()).toHaveLength(1)
  })
})

describe('a provider that says that a payment was refused', () => {
  const saysRefused = (id: string) =>
    alice.node.within(() =>
      noteRefusalSaid(alice.node.ctx.store, alice.payment(id)?.interaction ?? 0, 'pay again'),
    )

  test('changes no state of it: the hub is asked, which has taken it', async () => {
    const id = await world.held(alice, bob)
    alice.node.within(() =>
      alice.node.ctx.store.run(
        "UPDATE payments SET state = 'authorized', held_receipt = NULL, problem = NULL",
      ),
    )
    saysRefused(id)
    expect(shown(alice, id)).toMatchObject({ state: 'authorized', problem: 'said_refused' })
    // it takes the credits, and tells nobody
    bob.node.say(id, 'roses are red')
    await bob.payee.look()
    expect(world.post.ledger.balanceOf(alice.node.aid)).toEqual({ balance: GRANTED - PRICE, held: 0 })
    await alice.payer.look()
    expect(shown(alice, id)).toMatchObject({ state: 'taken' })
    expect(shown(alice, id)).not.toHaveProperty('problem')
  })
})

test('a hold that a hub had lost before a person went on with it is no new alarm once it is found out', async () => {
  const { ctx, hub } = bob.node
  const before = world.post.ledger.snapshot()
  const id = await world.held(alice, bob)
  world.pass(1000)
  world.post.ledger.restore(before, { told: true })
  auditOf(ctx).accept(world.post.log.aid)
  const view = await paymentParts(ctx).comparison.compare(hub, AbortSignal.timeout(100))
  expect([view.lost, accountFault(view)]).toEqual([[], undefined])
  bob.node.say(id, 'roses are red')
  await later()
  expect(bob.payment(id)).toMatchObject({ state: 'ending', problem: 'hold_lost' })
  expect(alarmOf(ctx.store, world.post.log.aid)).toBeUndefined()
})

describe('a hub that lost what it had given to a payee', () => {
  const hubAid = () => world.post.log.aid
  const compare = () => paymentParts(bob.node.ctx).comparison.compare(bob.node.hub, AbortSignal.timeout(100))
  const balances = () => [alice, bob].map(({ node }) => world.post.ledger.balanceOf(node.aid).balance)
  const proofs = () => bob.node.ctx.chain.read({ eventType: 'svc.payment.lost' })
  /** A task whose credits bob took, before the hub was put back to its hold, or to before that. */
  async function taken({ from }: { from: 'hold' | 'nothing' }): Promise<string> {
    const nothing = world.post.ledger.snapshot()
    const id = await world.held(alice, bob)
    const hold = world.post.ledger.snapshot()
    bob.node.say(id, 'roses are red')
    await world.turns(2)
    expect(bob.payment(id)).toMatchObject({ state: 'ended', moved: PRICE })
    world.post.ledger.restore(from === 'hold' ? hold : nothing, { told: true })
    return id
  }

  test.each(['hold', 'nothing'] as const)(
    '(%s) and a person that accepted that hears of it no more',
    async from => {
      const id = await taken({ from })
      world.pass(1000)
      auditOf(bob.node.ctx).accept(hubAid())
      await compare()
      await later()
      expect(alarmOf(bob.node.ctx.store, hubAid())).toBeUndefined()
      expect(accountFault(await compare())).toBeUndefined()
      const problem = from === 'hold' ? null : 'hold_lost'
      expect(bob.payment(id)).toMatchObject({ state: 'ended', problem, moved: PRICE })
    },
  )

  test('is given the order again, and the payee is paid', async () => {
    const id = await taken({ from: 'hold' })
    expect(balances()).toEqual([GRANTED - PRICE, 0])
    const count = settled().length
    expect(await compare()).toMatchObject({ again: true, missing: [], lost: [] })
    expect(shown(bob, id)).toMatchObject({ state: 'taken' })
    await bob.payee.look()
    expect(balances()).toEqual([GRANTED - PRICE, PRICE])
    expect(bob.payment(id)).toMatchObject({ state: 'ended', moved: PRICE, problem: null })
    expect([await compare(), alarmOf(bob.node.ctx.store, hubAid())]).toMatchObject([
      { again: false },
      undefined,
    ])
    expect([settled().length, proofs()]).toEqual([count, []])
  })

  test('and does not take it back ends payments in its credits, with its receipt as the proof, once', async () => {
    const id = await taken({ from: 'nothing' })
    const proof = bob.payment(id)?.endReceipt as Uint8Array
    await compare()
    await later()
    await later()
    expect(shown(bob, id)).toMatchObject({ state: 'taken', problem: 'hold_lost' })
    expect(bob.payment(id)).toMatchObject({ state: 'ending', endReceipt: proof })
    expect(alarmOf(bob.node.ctx.store, hubAid())).toMatch(
      /was paid to this agent, and its ledger has no such entry/,
    )
    expect(proofs().map(({ payload }) => payload)).toMatchObject([
      { interaction_id: id, receipt: toBase64(proof) },
    ])
    expect(await compare()).toMatchObject({ again: false, missing: [{ kind: 'received' }], lost: [{}] })
  })

  test('and only does not show it is told, until it does', async () => {
    const id = await world.answered(alice, bob)
    await world.turns(2)
    const { credits } = bob.node.hub
    const honest = credits.entriesAfter.bind(credits)
    credits.entriesAfter = async () => []
    await compare()
    await bob.payee.look()
    expect(bob.payment(id)).toMatchObject({ state: 'ending', problem: 'hold_lost' })
    expect(accountFault(await compare())).toMatch(/was paid to this agent, and its ledger has no such entry/)
    credits.entriesAfter = honest
    expect(accountFault(await compare())).toBeUndefined()
    expect(bob.payment(id)).toMatchObject({ state: 'ended', moved: PRICE, problem: null })
  })

  test('and says that the hold came back to its payer contradicts what it signed', async () => {
    const id = await taken({ from: 'hold' })
    const { endReceipt, holdUntil } = bob.payment(id) as { endReceipt: Uint8Array; holdUntil: number }
    world.pass(holdUntil - world.clock.ms + HOUR_MS)
    await compare()
    await later()
    expect(bob.payment(id)).toMatchObject({ state: 'ending', problem: 'hold_lost', endReceipt, moved: PRICE })
    expect(proofs()).toHaveLength(1)
  })
})
