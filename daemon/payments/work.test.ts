/** What work is paid with: its price once it is done, that of its start where it was withdrawn later, else nothing. */

import { afterEach, beforeEach, expect, test } from 'vitest'
import { buildEffect } from '../../protocol/proof/effect.ts'
import type { Quote } from '../../protocol/proof/quote.ts'
import { GRANTED, PaidWorld, type PayingNode, PRICE } from '../testing/paying.ts'
import { paymentParts } from './parts.ts'
import { notePrice, openPrice } from './priced-tasks.ts'

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

const quote = (): Quote => ({
  provider: bob.node.aid,
  what: 'task',
  amount: PRICE,
  network: world.network,
  holdSeconds: 60,
  settleSeconds: 300,
})
const OK_TRUST = { verifyTrust: 2, authTrust: 2 } as const
const done = (status: 'OK' | 'UNVERIFIED' | 'FAILED') => async () => ({
  effect: buildEffect({
    status,
    message: 'so',
    ...(status === 'OK' && { record: { metrics: { words: 3 } }, evidence: OK_TRUST }),
  }),
})
const work = (how: ReturnType<typeof done>) => bob.payee.paid(bob.node.thread(id), quote(), how)
const balances = () => [alice, bob].map(({ node }) => world.post.ledger.balanceOf(node.aid).balance)

test.each([
  ['OK', PRICE],
  ['UNVERIFIED', PRICE],
  ['FAILED', 0],
] as const)('work that is %s takes %i credits, with both receipts of the hub', async (status, moved) => {
  const answer = await work(done(status))
  expect([answer?.effect.status, answer?.settlements]).toEqual([
    status,
    [expect.anything(), expect.anything()],
  ])
  expect(bob.payment(id)).toMatchObject({ state: 'ended', moved, beganAt: expect.any(Number) })
  expect(balances()).toEqual([GRANTED - moved, moved])
  // the answer of a call brings what the hub signed
  expect(bob.node.messages(id).filter(({ direction }) => direction === 'out')).toEqual([])
})

test.each([
  ['once it had begun takes the price of its start', true, PRICE],
  ['before it began takes nothing', false, 0],
])('work that was withdrawn %s', async (_, hasBegun, moved) => {
  const row = bob.payment(id)
  if (hasBegun && row !== undefined) bob.payee.begun(row)
  alice.node.within(() => alice.node.tasks.leaving.cancel(alice.node.thread(id), ''))
  await world.turns(3)
  expect(bob.payment(id)).toMatchObject({ state: 'ended', moved })
  expect(balances()).toEqual([GRANTED - moved, moved])
})

test('work is begun ten minutes before its payment would lapse', async () => {
  world.clock.ms = (bob.payment(id)?.holdUntil ?? 0) - 10 * 60_000
  expect((await work(done('OK')))?.effect.status).toBe('OK')
})

test('work is not begun so late that its payment would lapse before it ends', async () => {
  const until = bob.payment(id)?.holdUntil ?? 0
  world.clock.ms = until - 10 * 60_000 + 1
  let hasRun = false
  const answer = await work(async () => {
    hasRun = true
    return await done('OK')()
  })
  expect([hasRun, answer?.effect.status]).toEqual([false, 'FAILED'])
  expect(bob.payment(id)).toMatchObject({ beganAt: null, moved: 0 })
})

test('a result waits for the hub, and is told after a minute where it is silent', async () => {
  world.post.ledger.always('endHold', { kind: 'lost_before' })
  const answer = await work(done('OK'))
  expect([answer?.effect.status, answer?.settlements]).toEqual(['OK', [expect.anything()]])
  expect(world.post.ledger.asked.filter(({ operation }) => operation === 'endHold').length).toBeGreaterThan(1)
  world.post.ledger.heal()
  await world.turns(3)
  expect(bob.payment(id)).toMatchObject({ state: 'ended', moved: PRICE })
})

test.each([
  ['its requester takes the price of its start', () => alice, PRICE],
  ['its provider takes nothing', () => bob, 0],
])('work that fails after an end was proposed by %s', async (_, by, moved) => {
  const { node } = by()
  node.within(() => node.tasks.endings.propose(node.thread(id)))
  await world.settle()
  expect(bob.node.thread(id).state).toBe('end_proposed')
  await work(done('FAILED'))
  expect(bob.payment(id)).toMatchObject({ state: 'ended', moved })
})

test('work whose requester ended the task takes the price of its start', async () => {
  const row = bob.payment(id)
  if (row !== undefined) bob.payee.begun(row)
  await world.end({ alice: alice.node, bob: bob.node, id })
  await world.turns(2)
  expect(bob.payment(id)).toMatchObject({ state: 'ended', moved: PRICE })
})

test('a stop ends the wait for the hub: nothing is told, and the order is kept', async () => {
  world.post.ledger.always('endHold', { kind: 'hang' })
  const answer = work(done('OK'))
  const isAsked = () => world.post.ledger.asked.some(({ operation }) => operation === 'endHold')
  await expect.poll(isAsked).toBe(true)
  await bob.payee.stop()
  expect([await answer, bob.payment(id)?.state]).toEqual([undefined, 'ending'])
})

test('words of a task that is paid for leave no price open, as a stop after the hold may have', () => {
  const task = bob.node.thread(id)
  bob.node.within(() => notePrice(bob.node.ctx.store, task, PRICE))
  bob.node.say(id, 'roses are red')
  expect(openPrice(bob.node.ctx.store, task)).toBeUndefined()
})

test('an answer in words waits a minute for the hub', () => {
  world.post.ledger.always('endHold', { kind: 'hang' })
  bob.node.say(id, 'roses are red')
  expect(bob.node.entry().nextAt).toBe(world.clock.ms + 60_000)
})

test('a call that a stop cut short gives its credits back, and keeps what came of it before', async () => {
  const failed = { effect: buildEffect({ status: 'FAILED', message: 'stopped' }) }
  expect(bob.payee.keep(bob.node.thread(id), failed)).toBe(true)
  expect(bob.payment(id)).toMatchObject({ state: 'ending' })
  await world.turns(2)
  expect(bob.payment(id)).toMatchObject({ state: 'ended', moved: 0 })
  expect(
    bob.payee.keep(bob.node.thread(id), { effect: buildEffect({ status: 'FAILED', message: 'x' }) }),
  ).toBe(true)
  const unpaid = alice.node.delegate(bob.node)
  await world.settle()
  expect(bob.payee.keep(bob.node.thread(unpaid.id), failed)).toBe(false)
})

test('an end that the hub has not signed is told to nobody', () => {
  const row = bob.payment(id)
  if (row === undefined) throw new Error('there is no payment')
  bob.node.say(id, 'roses are red')
  const told = () => bob.node.messages(id).map(({ kind }) => kind)
  const before = told()
  bob.node.within(() => paymentParts(bob.node.ctx).answers.letGo({ ...row, outcome: new Uint8Array() }))
  expect([row.endReceipt, told()]).toEqual([null, before])
})
