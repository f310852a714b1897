/** A paid task in words over kill -9 of its provider: one answer, and its credits are taken once, with it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Node } from '../../daemon/node.ts'
import { paymentOf } from '../../daemon/store/payments.ts'
import { inboxIds, killedAt, type Lab, never, openPair, texts, thread, until } from './world.ts'

const PRICE = 9
let lab: Lab
let alice: Node
let bob: Node

beforeAll(async () => {
  ;({ lab, alice, bob } = await openPair())
  await bob.handlers.contactAdd({ aid: alice.aid, petname: 'alice' }, never)
  await bob.handlers.priceSet({ capability: 'task', amount: PRICE }, never)
})
afterAll(() => lab.close())

const balances = async (): Promise<number[]> =>
  (await Promise.all([alice, bob].map(node => node.handlers.balance({}, never)))).flatMap(
    ({ balance, held }) => [balance, held],
  )
const payment = (node: Node, id: string) => paymentOf(node.ctx.store, node.ctx.threads.findById(id)?.key ?? 0)

/** The price of a task, quoted while the provider runs; nothing is paid yet. */
async function quoted(task: string): Promise<string> {
  const { interaction_id: id } = await alice.handlers.delegate(
    { to: bob.aid, task, pay: true, max_credits: 1, wait_s: 20 },
    never,
  )
  expect((await thread(alice, id)).payment).toMatchObject({ state: 'open', amount: PRICE })
  return id
}

const approved = async (id: string): Promise<string> =>
  (await alice.handlers.approve({ interaction_id: id }, never)).interaction_id
const held = (id: string) => until('the payment is held', () => payment(bob, id)?.state === 'held')
const heard = (id: string, words: string) =>
  until('the answer is here', async () => (await texts(alice, id)).includes(words))

async function answer(id: string, words: string): Promise<void> {
  if (!(await texts(bob, id)).includes(words))
    await bob.handlers.message({ interaction_id: id, text: words }, never)
}

/** One answer is here, once, and the credits have moved once. */
async function expectOnce(id: string, words: string, [mine = 0, , theirs = 0]: number[]): Promise<void> {
  await heard(id, words)
  await until('the hold has ended', async () => (await balances())[1] === 0)
  expect(await balances()).toEqual([mine - PRICE, 0, theirs + PRICE, 0])
  for (const node of [alice, bob])
    expect((await texts(node, id)).filter(text => text === words)).toHaveLength(1)
}

const step = (transaction: string, n: number) =>
  ['before', 'after'].map(side => `${transaction}.${side}-commit:${n}`)

describe('a provider of words', () => {
  const whileHeld = [1, 2].flatMap(n => step('node.payment', n))
  test.each(whileHeld)('killed at %s while it is paid, answers once for it', async fault => {
    const quote = await quoted(`before the answer, ${fault}`)
    const before = await balances()
    await bob.stop()
    const dead = killedAt(lab, 'bob', fault, 'results', { wait_s: '30' })
    const id = await approved(quote)
    expect(await dead).toBe('SIGKILL')
    bob = await lab.start('bob')
    await held(id)
    await answer(id, fault)
    await expectOnce(id, fault, before)
  })

  const whileAnswered = [...step('node.delegate', 1), ...step('node.send', 1), ...step('node.payment', 1)]
  test.each(whileAnswered)('killed at %s while it answers, is paid once for it', async fault => {
    const quote = await quoted(`with the answer, ${fault}`)
    const before = await balances()
    const id = await approved(quote)
    await held(id)
    await bob.stop()
    const words = `words over ${fault}`
    const after: [string, object][] = [['results', { wait_s: '30' }]]
    const given = { interaction_id: id, text: words }
    expect(await killedAt(lab, 'bob', fault, 'message', given, { after })).toBe('SIGKILL')
    bob = await lab.start('bob')
    await answer(id, words)
    await expectOnce(id, words, before)
  })

  test('killed while it gives everything back for a task that it declines, gives it back once', async () => {
    const quote = await quoted('one that is declined')
    const before = await balances()
    const id = await approved(quote)
    await held(id)
    await bob.stop()
    const given = { interaction_id: id, reason: 'no time' }
    const after: [string, object][] = [['results', { wait_s: '30' }]]
    expect(await killedAt(lab, 'bob', 'node.payment.before-commit:1', 'decline', given, { after })).toBe(
      'SIGKILL',
    )
    bob = await lab.start('bob')
    await until('it is given back', async () => payment(bob, id)?.state === 'ended')
    expect(await balances()).toEqual(before)
    expect(bob.ctx.threads.findById(id)?.state).not.toBe('open')
    expect(await inboxIds(bob)).toContain(id)
  })
})
