import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { queueCapabilities } from '../sealed/top-ups.ts'
import { outboxEntry } from '../store/outbox.ts'
import { type TestNode, TestWorld } from '../testing/node.ts'

let world: TestWorld
let alice: TestNode
let bob: TestNode

beforeEach(async () => {
  world = new TestWorld()
  ;({ alice, bob } = await world.pair())
})
afterEach(() => world[Symbol.asyncDispose]())

describe('proof that a message is stored', () => {
  test('takes it out of the outbox, makes the task delivered and is told once', async () => {
    const { id } = alice.delegate(bob)
    await alice.send()
    const [sent] = alice.messages(id)
    const key = sent?.key ?? 0
    alice.within(() => alice.tasks.deliveries.note(key))
    alice.within(() => alice.tasks.deliveries.note(key))
    expect(outboxEntry(alice.ctx.store, key)).toBeUndefined()
    expect(alice.thread(id).state).toBe('delivered')
    const told = alice.heard.filter(({ data }) => data['state'] === 'delivered')
    expect(told).toEqual([{ type: 'delivery', data: { interaction_id: id, number: 1, state: 'delivered' } }])
    expect(alice.ctx.peers.introducedTo(bob.aid)).not.toBeNull()
  })

  test('leaves a task as it is that went on in the meantime', async () => {
    const task = alice.delegate(bob)
    alice.within(() => alice.ctx.threads.update(task, { state: 'open' }))
    alice.within(() => alice.tasks.deliveries.note(alice.messages(task.id)[0]?.key ?? 0))
    expect(alice.thread(task.id).state).toBe('open')
    expect(alice.ctx.peers.introducedTo(bob.aid)).toBeNull()
  })

  test('of a message of no interaction is told nobody', async () => {
    alice.delegate(bob)
    await world.settle()
    alice.within(() => queueCapabilities(alice.ctx.threads, bob.aid))
    await alice.send()
    const before = alice.heard.length
    const { message } = alice.entry()
    alice.within(() => alice.tasks.deliveries.note(message))
    expect(alice.ctx.threads.message(message).delivery).toBe('delivered')
    expect(alice.heard.length).toBe(before)
  })
})
