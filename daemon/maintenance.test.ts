/** What a clock that ran a year ahead has put off is tried again soon after the clock is right. */

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { kinds } from '../protocol/mail/payload.ts'
import { choresOf, expiryOf } from './maintenance.ts'
import { auditOf } from './payments/x402.ts'
import { AskedCapabilities } from './sealed/top-ups.ts'
import { addA2aEvent, addA2aTask, dueA2aPushes, putA2aPush, putOffPush } from './store/a2a.ts'
import { dueEntries } from './store/outbox.ts'
import { failWrites } from './testing/failing-store.ts'
import { DAY_MS, HOUR_MS } from './testing/node.ts'
import { PaidWorld, type PayingNode } from './testing/paying.ts'

const YEAR_MS = 365 * DAY_MS

let world: PaidWorld
let alice: PayingNode
let bob: PayingNode

beforeEach(async () => {
  world = new PaidWorld()
  ;({ alice, bob } = await world.paid())
})
afterEach(() => world[Symbol.asyncDispose]())

/** Runs while the clock of a node is a year ahead, and no hub tells it the time. */
async function aYearAhead({ node }: PayingNode, name: string, work: () => unknown): Promise<void> {
  world.skews.set(name, YEAR_MS)
  node.hub.skewMs = YEAR_MS
  await work()
  world.skews.delete(name)
  node.hub.skewMs = 0
}

test.each([1, 2, 3, 5, 8])(
  'a disk that fails from write %i on ends no round, and what is due is done at the next one',
  async from => {
    const id = await world.answered(alice, bob)
    world.post.ledger.always('endHold', { kind: 'lost_before' })
    await aYearAhead(bob, 'bob', () => bob.payee.look())
    world.post.ledger.heal()
    const disk = failWrites(bob.node.ctx.store, { from, count: Number.POSITIVE_INFINITY })
    choresOf(bob.node.ctx).do()
    disk.mend()
    choresOf(bob.node.ctx).do()
    await bob.payee.look()
    expect(bob.payment(id)).toMatchObject({ state: 'ended' })
  },
)

describe('after a clock that ran a year ahead', () => {
  test('a message that was given up before its time goes again, once', async () => {
    const { node } = alice
    node.hub.answers({ send: () => Promise.reject(new Error('no hub')) })
    const { id } = node.delegate(bob.node)
    await aYearAhead(alice, 'alice', () => choresOf(node.ctx).do())
    const delivery = () => node.messages(id)[0]?.delivery
    expect(delivery()).toBe('unknown')
    expiryOf(node.ctx).expire()
    expect(delivery()).toBe('queued')
    node.hub.answers({})
    await node.send()
    expect(bob.node.ctx.threads.findById(id)).toBeUndefined()
    await bob.node.receive()
    expect(bob.node.ctx.threads.findById(id)).toBeDefined()
    node.ctx.store.run("UPDATE messages SET delivery = 'unknown' WHERE interaction = ?", node.thread(id).key)
    expiryOf(node.ctx).expire()
    expect(delivery()).toBe('unknown')
  })

  test('an order about a hold goes to the hub again', async () => {
    const id = await world.answered(alice, bob)
    world.post.ledger.always('endHold', { kind: 'lost_before' })
    await aYearAhead(bob, 'bob', () => bob.payee.look())
    world.post.ledger.heal()
    await bob.payee.look()
    expect(bob.payment(id)).toMatchObject({ state: 'ending', problem: 'unanswered' })
    expiryOf(bob.node.ctx).expire()
    await bob.payee.look()
    expect(bob.payment(id)).toMatchObject({ state: 'ended' })
  })

  test('a message that a hub did not take is due', async () => {
    bob.node.ctx.settings.change({ prices: {} })
    const { store, now } = alice.node.ctx
    const cut = () => Promise.reject(Object.assign(new Error('cut'), { code: 'ECONNRESET' }))
    alice.node.hub.answers({ send: cut })
    await aYearAhead(alice, 'alice', async () => {
      alice.node.delegate(bob.node)
      await alice.node.send()
    })
    expect(dueEntries(store, now())).toEqual([])
    expiryOf(alice.node.ctx).expire()
    expect(dueEntries(store, now())).toHaveLength(1)
  })

  test('a stock of capabilities is asked for again', async () => {
    const { ctx } = alice.node
    const ask = () => new AskedCapabilities(ctx.store, ctx.threads, ctx.now).ask(bob.node.aid)
    const asked = () => ctx.store.all('SELECT 1 FROM messages WHERE kind = ?', kinds.capabilities).length
    await aYearAhead(alice, 'alice', ask)
    expect(asked()).toBe(1)
    for (let n = 0; n < 2; n++) ask()
    expect(asked()).toBe(2)
  })

  test('a push of A2A is tried again', async () => {
    const { store, now } = alice.node.ctx
    const facts = { agent: '', context: 'c', interaction: null, request: null, ends: 0 as const }
    const { key } = addA2aTask(store, { id: 'one', ...facts, state: 'SUBMITTED', stateAt: 0, status: '{}' })
    putA2aPush(store, { task: key, id: 'p', config: '{}', told: 0, nextAt: 0 })
    addA2aEvent(store, key, { body: 'first', message: null })
    const due = () => dueA2aPushes(store, now(), 9)
    await aYearAhead(alice, 'alice', () => {
      const [push] = due()
      if (push !== undefined) putOffPush(store, push, now() + 1000)
    })
    expect(due()).toEqual([])
    expiryOf(alice.node.ctx).expire()
    expect(due()).toHaveLength(1)
  })

  test('a hub is audited again', async () => {
    const audit = auditOf(alice.node.ctx)
    const { credits } = alice.node.hub
    const { supplyRecords } = credits
    let audited = 0
    credits.supplyRecords = (...given) => {
      audited += 1
      return supplyRecords(...given)
    }
    await aYearAhead(alice, 'alice', async () => {
      world.pass(HOUR_MS)
      await audit.look()
    })
    expect(audited).toBe(1)
    world.pass(7 * HOUR_MS)
    await audit.look()
    await audit.stop()
    expect(audited).toBe(2)
  })
})
