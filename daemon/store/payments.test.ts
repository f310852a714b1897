/** Prices and payments of tasks as the store keeps them. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createInteraction, interactionAt, updateInteraction } from './interactions.ts'
import { openStoreAt, type Store } from './open.ts'
import { openHolds, receivedPayments, spentSince, unjudgedPayments } from './open-payments.ts'
import {
  addPayment,
  keepOutcome,
  keepReceipts,
  markEnded,
  markHeld,
  markRefused,
  paymentById,
  paymentOf,
  reopenUnprovenOut,
} from './payments.ts'
import {
  freshQuotes,
  knownPrice,
  markQuotePaid,
  markQuoteShown,
  noteQuote,
  orderPayment,
  quoteOf,
  sayWhyUnpaid,
} from './quotes.ts'

const NETWORK = 'svc:hub'
let store: Store

beforeEach(() => {
  store = openStoreAt(':memory:')
})
afterEach(() => store.close())

let tasks = 0
const task = (peer = 'Apeer', capability: string | null = null): number =>
  createInteraction(
    store,
    {
      id: `task ${tasks++}`,
      delegator: 'Aown',
      peer,
      side: 'sent',
      state: 'open',
      way: 'sealed',
      capability,
      preview: '',
      commitment: null,
      requestCid: 'c',
    },
    1000,
  ).key
const price = (amount: number) => ({ amount, network: NETWORK, holdSeconds: undefined, settleSeconds: 60 })
const id = (n: number) => new Uint8Array(36).fill(n)

type Given = {
  side?: 'payer' | 'payee'
  amount?: number
  at?: number
  by?: 'person' | 'agent' | 'node'
  holdUntil?: number
}
function paid(
  interaction: number,
  { side = 'payer', amount = 5, at = 1000, by = 'agent', holdUntil }: Given = {},
) {
  addPayment(store, {
    interaction,
    side,
    payment: id(interaction),
    amount,
    network: NETWORK,
    authorization: Uint8Array.of(1),
    salt: Uint8Array.of(2),
    at,
    holdUntil: holdUntil ?? null,
    orderedBy: by,
  })
  return interaction
}

describe('the price of a task', () => {
  test('is noted once, with what was ordered beforehand', () => {
    const key = task()
    expect(quoteOf(store, key)).toBeUndefined()
    orderPayment(store, key, 'agent', 9)
    noteQuote(store, key, price(5))
    noteQuote(store, key, price(500))
    expect(quoteOf(store, key)).toMatchObject({
      state: 'open',
      amount: 5,
      orderedBy: 'agent',
      creditsMax: 9,
      holdSeconds: null,
    })
  })

  test('that is not paid stays open for a person, unless that is for good', () => {
    const [later, never] = [task(), task()]
    for (const key of [later, never]) noteQuote(store, key, price(5))
    expect(freshQuotes(store, 10).map(({ interaction }) => interaction)).toEqual([later, never])
    sayWhyUnpaid(store, later, 'over the limit')
    sayWhyUnpaid(store, never, 'the task is over', true)
    expect(quoteOf(store, later)).toMatchObject({ state: 'open', reason: 'over the limit' })
    expect(quoteOf(store, never)).toMatchObject({ state: 'refused', reason: 'the task is over' })
    expect(freshQuotes(store, 10)).toEqual([])
    const paidAs = paid(task())
    markQuotePaid(store, later, paidAs)
    expect(quoteOf(store, later)).toMatchObject({ state: 'paid', reason: null, paidAs })
  })

  test('is known from what a person was shown last of the same agent for the same', () => {
    const [other, first, second, now] = [task('Aother'), task(), task(), task()]
    for (const [key, amount] of [
      [other, 1],
      [first, 2],
      [second, 3],
    ] as const)
      noteQuote(store, key, price(amount))
    noteQuote(store, task(), price(9))
    for (const key of [other, first, second]) markQuoteShown(store, key)
    const known = (network = NETWORK) => knownPrice(store, { interaction: now, network })
    expect([known(), known('svc:elsewhere')]).toEqual([3, undefined])
    expect(knownPrice(store, { interaction: other, network: NETWORK })).toBeUndefined()
  })
})

describe('a payment', () => {
  test('is found by its task and by its id', () => {
    const key = paid(task())
    expect(paymentOf(store, key)?.payment).toEqual(id(key))
    expect(paymentById(store, id(key))?.interaction).toBe(key)
    expect([paymentOf(store, 99), paymentById(store, id(99))]).toEqual([undefined, undefined])
  })

  test.each([true, false])('keeps what was done for it, private: %s', isPrivate => {
    const key = paid(task(), { side: 'payee' })
    const kept = { outcome: Uint8Array.of(7), isPrivate, order: Uint8Array.of(8) }
    keepOutcome(store, key, kept)
    expect(paymentOf(store, key)).toMatchObject({ state: 'authorized', outcome: null })
    markHeld(store, key, Uint8Array.of(6))
    keepOutcome(store, key, kept)
    expect(paymentOf(store, key)).toMatchObject({
      state: 'ending',
      outcome: Uint8Array.of(7),
      outcomePrivate: isPrivate ? 1 : 0,
      endOrder: Uint8Array.of(8),
    })
  })

  test('that an earlier release took for ended by the ledger alone is open again, and one with a receipt is not', () => {
    const [lone, held, receipted, unheld] = [
      paid(task(), { holdUntil: 9 }),
      paid(task(), { holdUntil: 9 }),
      paid(task(), { holdUntil: 9 }),
      paid(task()),
    ]
    markHeld(store, held, Uint8Array.of(1))
    for (const key of [lone, held, unheld]) markEnded(store, key, { receipt: null, moved: 3 })
    markEnded(store, receipted, { receipt: Uint8Array.of(2), moved: 3 })
    reopenUnprovenOut(store)
    const states = [lone, held, receipted, unheld].map(key => {
      const row = paymentOf(store, key)
      return [row?.state, row?.moved, row?.problem]
    })
    expect(states).toEqual([
      ['authorized', null, 'unproven'],
      ['held', null, 'unproven'],
      ['ended', 3, null],
      ['ended', 3, null],
    ])
  })

  test('keeps the first of each receipt, which is then judged', () => {
    const key = paid(task())
    expect(unjudgedPayments(store, 9)).toEqual([])
    keepReceipts(store, key, { held: Uint8Array.of(1), end: null })
    keepReceipts(store, key, { held: Uint8Array.of(2), end: Uint8Array.of(3) })
    expect(paymentOf(store, key)).toMatchObject({
      heldReceipt: Uint8Array.of(1),
      endReceipt: Uint8Array.of(3),
    })
    expect(unjudgedPayments(store, 9).map(({ interaction }) => interaction)).toEqual([key])
    markEnded(store, key, { receipt: Uint8Array.of(3), moved: 5 })
    expect(unjudgedPayments(store, 9)).toEqual([])
  })

  test('whose hold is over, or whose task is, asks for its end', () => {
    const [running, late, over] = [
      paid(task(), { holdUntil: 3000 }),
      paid(task(), { holdUntil: 1999 }),
      task(),
    ]
    paid(over, { holdUntil: 3000 })
    updateInteraction(store, interactionAt(store, over), { state: 'cancelled' }, 1500)
    const held = () => openHolds(store, 2000, 9).map(({ interaction }) => interaction)
    expect(held()).toEqual([late, over])
    markEnded(store, late, { receipt: Uint8Array.of(1), moved: 0 })
    expect([held(), paymentOf(store, running)?.state]).toEqual([[over], 'authorized'])
  })
})

test('what was spent without a person counts what moved, else what may, of one agent or of all', () => {
  expect(spentSince(store, 0, undefined)).toBe(0)
  const settled = paid(task(), { amount: 10, at: 1000 })
  markEnded(store, settled, { receipt: null, moved: 4 })
  paid(task('Aother'), { amount: 100, at: 2000, by: 'node' })
  paid(task(), { amount: 1000, by: 'person' })
  markRefused(store, paid(task(), { amount: 10_000 }), 'no')
  expect(spentSince(store, 0, undefined)).toBe(104)
  expect(spentSince(store, 0, 'Apeer')).toBe(4)
  expect(spentSince(store, 1001, undefined)).toBe(100)
})

test('what came in counts where credits moved to this node and a receipt shows it', () => {
  for (const [moved, receipt] of [
    [4, Uint8Array.of(4)],
    [0, Uint8Array.of(0)],
    [5, null],
  ] as const)
    markEnded(store, paid(task(), { side: 'payee' }), { receipt, moved })
  expect(receivedPayments(store, NETWORK, 1000)).toMatchObject([{ endReceipt: Uint8Array.of(4) }])
  expect([receivedPayments(store, NETWORK, 1001), receivedPayments(store, 'svc:elsewhere', 0)]).toEqual([
    [],
    [],
  ])
})
