/** A requester that lost its tasks with a restore: what both sides are told of them, and what of it is true for whom. */

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { balancesOf, taskReading } from '../control/parts.ts'
import { lostTasks } from '../store/lost.ts'
import { UnansweredThreads } from '../tasks/auto-reply-threads.ts'
import { taskParts } from '../tasks/open.ts'
import { HOUR_MS, type TestNode } from '../testing/node.ts'
import { PaidWorld, type PayingNode, PRICE } from '../testing/paying.ts'

let world: PaidWorld
let alice: TestNode
let bob: PayingNode
let archive: string
let madeAtMs: number
/** A task in words that costs nothing, a paid one that bob works on, and one that only asked for its price. */
let plain: string
let paid: string
let priced: string
let delegatedMs: number

beforeEach(async () => {
  world = new PaidWorld()
  const both = await world.paid()
  ;({ bob } = both)
  alice = both.alice.node
  archive = world.archive(alice)
  madeAtMs = world.clock.ms
  world.pass(HOUR_MS)
  priced = alice.tasks.delegation.delegate({ to: bob.node.aid, task: 'what does it cost?' })
  await world.turns()
  paid = await world.authorized(both.alice, bob)
  await world.turns()
  bob.node.ctx.settings.change({ prices: {} })
  delegatedMs = world.clock.ms
  plain = alice.tasks.delegation.delegate({ to: bob.node.aid, task: 'count the words' })
  await world.settle()
  expect(bob.payment(paid)?.state).toBe('held')
  world.pass(HOUR_MS)
  await both.alice.stop()
  alice = await world.restore(alice, archive, madeAtMs)
  alice.askNumbers()
  await minutes(2)
})
afterEach(async () => {
  await bob.stop()
  await world[Symbol.asyncDispose]()
})

async function minutes(n: number): Promise<void> {
  for (let i = 0; i < n * 6; i++) {
    world.pass(10_000)
    await world.settle()
    for (const node of [alice, bob.node]) await node.ask()
  }
}
const view = (id: string) =>
  taskReading(bob.node.ctx).views.thread(bob.node.thread(id), { fromTurn: 1, maxChars: undefined })

describe('the requester that was restored', () => {
  test('knows what it had delegated, to whom and when; what only asked for a price is no task', () => {
    const lost = taskReading(alice.ctx).restored.view()?.lost ?? []
    expect(lost.map(one => one.interaction_id).sort()).toEqual([paid, plain].sort())
    expect(lost.map(one => one.interaction_id)).not.toContain(priced)
    expect(lost.find(one => one.interaction_id === plain)).toEqual({
      interaction_id: plain,
      peer: bob.node.aid,
      peer_name: 'bob',
      side: 'sent',
      delegated_at: delegatedMs,
    })
  })

  test('is told to delegate again itself, and where it sees what was paid', () => {
    const [said, ...more] = taskReading(alice.ctx).restored.warnings(alice.ctx.hub)
    expect(more).toEqual([])
    expect(said).toMatch(/^2 tasks that this node delegated after the backup, it no longer has/)
    expect(said).toContain(`${plain} to bob at ${new Date(delegatedMs).toISOString()}`)
    expect(said).toMatch(/delegate again what you still want; svc balance shows what was paid$/)
    expect(said).not.toMatch(/ask them/)
  })

  test('reads in its balance for which lost task the credits are held', async () => {
    const { entries } = await balancesOf(alice.ctx).at(alice.hub)
    expect(entries.filter(({ lost_task }) => lost_task !== undefined)).toMatchObject([
      { reason: 'held', delta: -PRICE, counterparty: bob.node.aid, contact: 'bob', lost_task: paid },
    ])
  })

  test('is told so where it names such a task', () => {
    expect(taskReading(alice.ctx).restored.sayLostHere(plain)).toMatch(
      /no longer has \S+, which it had delegated to bob; delegate it again if you still want it/,
    )
    expect(taskReading(alice.ctx).restored.sayLostHere(priced)).toBeUndefined()
  })
})

describe('its provider', () => {
  test('is told that no answer arrives and that nothing is to be done, and not to delegate', () => {
    expect(view(plain)).toMatchObject({
      side: 'received',
      lost_by_peer_at: expect.any(Number),
      reason: expect.stringMatching(/no answer arrives there, and nothing is to be done here$/),
      reason_own: true,
    })
    expect(view(plain).reason).not.toMatch(/anew/)
    expect(view(plain).actions).not.toContain('anew')
  })

  test('is told when the credits that are held go back by themselves, and how they go back at once', async () => {
    const { reason, payment, actions } = view(paid)
    const until = payment?.held_until as number
    expect(until).toBeGreaterThan(world.clock.ms)
    expect(reason).toMatch(
      new RegExp(`go back by themselves at ${new Date(until).toISOString()}; svc decline ${paid} gives`),
    )
    expect(actions).toContain('decline')
    bob.node.within(() => bob.node.tasks.leaving.decline(bob.node.thread(paid), 'nobody reads it'))
    await world.turns()
    expect(world.post.ledger.balanceOf(alice.aid)).toMatchObject({ held: 0 })
  })

  test('delegates nothing anew in the place of its requester', () => {
    const { ctx } = bob.node
    expect(() => taskParts(ctx).redelegation.redelegate(bob.node.thread(plain))).toThrow(
      'only who delegated a task delegates it anew',
    )
  })

  test('has an answer refused with that reason, and answers nothing more by itself', async () => {
    bob.node.ctx.settings.change({ auto_reply: { backend: 'openai', api_base: 'http://127.0.0.1:1/v1' } })
    expect(new UnansweredThreads(bob.node.ctx).list()).toEqual([])
    const said = bob.node.say(plain, 'four words')
    await minutes(2)
    expect(bob.node.messages(plain).find(({ key }) => key === said.key)).toMatchObject({
      delivery: 'failed',
      reason: expect.stringMatching(/nothing is to be done here/),
    })
  })
})

test('a provider that writes in a lost task shows its requester which side it had', async () => {
  alice.within(() => alice.ctx.store.run('DELETE FROM lost_tasks'))
  bob.node.say(plain, 'four words')
  await minutes(1)
  expect(lostTasks(alice.ctx.store)).toMatchObject([{ id: plain, side: null }])
  expect(taskReading(alice.ctx).restored.warnings(alice.ctx.hub).join()).toMatch(
    /whoever delegated can do so again/,
  )
})
