/** A refund of which nothing was heard is asked for until the hub says what became of it, before another one is signed. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { HOUR_MS } from '../testing/node.ts'
import { PaidWorld, type PayingNode, PRICE } from '../testing/paying.ts'
import { givenBack, prepareRefund, settleRefund } from './refunds.ts'

const PART = 2

let world: PaidWorld
let alice: PayingNode
let bob: PayingNode
let id: string

beforeEach(async () => {
  world = new PaidWorld()
  ;({ alice, bob } = await world.paid())
  id = await world.answered(alice, bob)
  await world.turns(3)
  expect(bob.payment(id)).toMatchObject({ state: 'ended', moved: PRICE })
})
afterEach(() => world[Symbol.asyncDispose]())

/** As `svc refund` does. */
async function refund(amount: number) {
  const { node } = bob
  const task = node.thread(id)
  const prepare = (isRenewed = false) => node.within(() => prepareRefund(node.ctx, task, amount, isRenewed))
  const given = { prepared: prepare(), renew: () => prepare(true), signal: AbortSignal.timeout(1000) }
  return await settleRefund(node.ctx, node.hub, task, given)
}
const back = () => givenBack(bob.node.ctx.store, bob.payment(id)?.payment ?? new Uint8Array())
const refunds = async () => {
  const entries = await bob.node.hub.credits.entriesAfter(0, AbortSignal.timeout(1000))
  return entries.flatMap(({ reason, delta }) => (reason === 'refund' ? [delta] : []))
}

test('one that was carried out and whose answer was lost is not given twice, also after its hour', async () => {
  world.post.ledger.next('settle', { kind: 'lost_after' })
  await expect(refund(PART)).rejects.toThrow()
  world.pass(2 * HOUR_MS)
  expect(await refund(PART)).toMatchObject({ amount: PART, verified: true })
  expect([await refunds(), back()]).toEqual([[-PART], PART])
})

test('another amount after its hour is refused where the first was carried out after all', async () => {
  world.post.ledger.next('settle', { kind: 'lost_after' })
  await expect(refund(PART)).rejects.toThrow()
  world.pass(2 * HOUR_MS)
  await expect(refund(1)).rejects.toMatchObject({
    code: 'wrong_state',
    message: `${PART} credits of this task were given back already`,
  })
  expect([await refunds(), back()]).toEqual([[-PART], PART])
})

test('one that never came is given after its hour, in any amount', async () => {
  world.post.ledger.next('settle', { kind: 'lost_before' })
  await expect(refund(PART)).rejects.toThrow()
  await expect(refund(1)).rejects.toMatchObject({ code: 'wrong_state' })
  world.pass(2 * HOUR_MS)
  expect(await refund(1)).toMatchObject({ amount: 1, verified: true })
  expect([await refunds(), back()]).toEqual([[-1], 1])
})
