/** A message is final before anything is signed over it, whatever the hub says later. */

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Receipt } from '../../protocol/proof/receipt.ts'
import { taskParts } from '../tasks/open.ts'
import { PaidWorld, type PayingNode, PRICE } from '../testing/paying.ts'

let world: PaidWorld
let alice: PayingNode
let bob: PayingNode

beforeEach(async () => {
  world = new PaidWorld()
  ;({ alice, bob } = await world.paid())
})
afterEach(() => world[Symbol.asyncDispose]())

const later = async () => {
  world.pass(600_000)
  await world.turns(2)
}
const states = (id: string) => [alice, bob].map(({ node }) => node.thread(id).receiptState)
/** Bob answers, and both end the task, while the hub has not said that the credits are taken. */
async function endedWhileTaking(by: 'alice' | 'bob'): Promise<string> {
  const id = await world.answered(alice, bob)
  world.post.ledger.always('endHold', { kind: 'lost_before' })
  await bob.payee.look()
  const first = by === 'alice' ? alice.node : bob.node
  const other = by === 'alice' ? bob.node : alice.node
  first.within(() => first.tasks.endings.propose(first.thread(id)))
  await world.settle()
  if (other.thread(id).endBy === 'peer' && other.thread(id).ownLast === null)
    other.within(() => other.tasks.endings.accept(other.thread(id)))
  return id
}

describe('a paid task that ends while its answer waits for the capture', () => {
  test.each(['alice', 'bob'] as const)('at the word of %s has a receipt that both sign', async by => {
    const id = await endedWhileTaking(by)
    world.post.ledger.heal()
    await later()
    expect(bob.payment(id)).toMatchObject({ state: 'ended', moved: PRICE })
    if (alice.node.thread(id).endBy === 'peer')
      alice.node.within(() => alice.node.tasks.endings.accept(alice.node.thread(id)))
    await later()
    expect(states(id)).toEqual(['signed', 'signed'])
  })

  test('keeps the digest that the receipt covers, however late the hub answers', async () => {
    const id = await endedWhileTaking('alice')
    const before = bob.node.messages(id).map(({ digest }) => digest)
    world.post.ledger.heal()
    world.pass(1000)
    await bob.payee.look()
    expect(
      bob.node
        .messages(id)
        .slice(0, before.length)
        .map(({ digest }) => digest),
    ).toEqual(before)
    await later()
    expect(states(id)).toEqual(['signed', 'signed'])
  })
})

test('a receipt that covers another digest than the message has is replaced by both sides', async () => {
  const id = await world.answered(alice, bob)
  await world.turns(2)
  const { ctx } = bob.node
  alice.node.within(() => alice.node.tasks.endings.propose(alice.node.thread(id)))
  await world.settle()
  // as an earlier release did: the receipt is signed over an answer that changes after it
  const answer = ctx.threads.byNumber(bob.node.thread(id).key, 'out', 1)
  const change = (digest: Uint8Array) =>
    ctx.store.run('UPDATE messages SET digest = ? WHERE key = ?', digest, answer?.key ?? 0)
  bob.node.within(() => {
    change(new Uint8Array(32).fill(1))
    taskParts(ctx).endings.accept(bob.node.thread(id))
    change(answer?.digest ?? new Uint8Array())
  })
  await world.turns(2)
  expect(states(id)).toEqual(['disputed', 'made'])
  bob.node.within(() => taskParts(ctx).ownReceipts.mend())
  await world.turns(2)
  expect(states(id)).toEqual(['signed', 'signed'])
  const [mine, theirs] = [alice, bob].map(({ node }) => node.thread(id).receipt as Uint8Array)
  expect(mine).toEqual(theirs)
  expect(Receipt.decode(mine as Uint8Array).body.status).toBe('UNVERIFIED')
  expect(alice.node.thread(id).contradicting).toBeNull()
})
