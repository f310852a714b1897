/** What a receipt proves of a payment that went out is noted and recorded once, whoever brings it, and in its order. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { PaymentRow } from '../store/payments.ts'
import { PaidWorld, type PayingNode, PRICE } from '../testing/paying.ts'
import { paymentParts } from './parts.ts'

let world: PaidWorld
let alice: PayingNode
let bob: PayingNode
let id: string

beforeEach(async () => {
  world = new PaidWorld()
  ;({ alice, bob } = await world.paid())
  id = await world.held(alice, bob)
})
afterEach(() => world[Symbol.asyncDispose]())

const row = (by = alice) => by.payment(id) as PaymentRow
const proven = () => paymentParts(alice.node.ctx).proven
const records = () =>
  alice.node.ctx.chain.read({ eventType: 'svc.payment.settled' }).map(({ payload }) => payload)
const heard = () => alice.node.heard.filter(({ data }) => data['interaction_id'] === id).length

/** The end of the hold, as the hub has signed it for bob. */
async function end(how: 'taken' | 'returned'): Promise<Uint8Array> {
  if (how === 'taken') bob.node.say(id, 'roses are red')
  else bob.node.within(() => bob.node.tasks.leaving.decline(bob.node.thread(id), 'no time'))
  await bob.payee.look()
  return row(bob).endReceipt as Uint8Array
}

test('that it is held is noted once, with its receipt', () => {
  const first = row()
  const receipt = row(bob).heldReceipt as Uint8Array
  const before = heard()
  for (let n = 0; n < 2; n++) proven().noteTaken(first, receipt)
  expect(row()).toMatchObject({ state: 'held', heldReceipt: receipt, moved: null })
  expect(records()).toMatchObject([{ interaction_id: id, amount: PRICE, verified: true }])
  expect(heard()).toBe(before + 1)
})

test.each([
  ['taken', PRICE],
  ['returned', 0],
] as const)('that it was %s is noted once, also of one that was never noted as held', async (how, moved) => {
  const first = row()
  const receipt = await end(how)
  expect([proven().noteEnd(first, receipt), proven().noteEnd(first, receipt)]).toEqual([moved, undefined])
  expect(row()).toMatchObject({ state: 'ended', endReceipt: receipt, moved })
  // an end is not undone by what came before it
  proven().noteTaken(first, row(bob).heldReceipt as Uint8Array)
  expect([row().state, records()]).toMatchObject(['ended', [{ amount: moved }]])
})

test('nothing is noted of a task without a payment', () => {
  const { key } = alice.node.delegate(bob.node)
  proven().noteTaken({ ...row(), interaction: key }, row(bob).heldReceipt as Uint8Array)
  expect(records()).toEqual([])
})
