import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ANSWER_DEADLINE_MS } from '../store/threads.ts'
import { DAY_MS, type TestNode, TestWorld } from '../testing/node.ts'

let world: TestWorld
let alice: TestNode
let bob: TestNode

beforeEach(async () => {
  world = new TestWorld()
  ;({ alice, bob } = await world.pair())
})
afterEach(() => world[Symbol.asyncDispose]())

describe('a task that nobody answers', () => {
  test('expires after seven days to the millisecond, with a record and an event', () => {
    const { id } = alice.delegate(bob)
    world.pass(ANSWER_DEADLINE_MS - 1)
    alice.tasks.deadlines.expireUnanswered()
    expect(alice.thread(id).state).toBe('queued')
    world.pass(1)
    alice.tasks.deadlines.expireUnanswered()
    expect(alice.thread(id)).toMatchObject({
      state: 'expired',
      reason: `nobody answered within 7 days, it is not known to have arrived (queued); a late answer is still taken, svc cancel ${id} withdraws the task`,
    })
    expect(alice.ctx.chain.read({ eventType: 'svc.delegation.expired' })).toHaveLength(1)
    expect(alice.heard.at(-1)).toEqual({
      type: 'message',
      data: { interaction_id: id, peer: bob.aid, state: 'expired' },
    })
  })

  test('says that it arrived where that is known, and how far it came where not', async () => {
    const here = alice.delegate(bob, 'arrives')
    await world.settle()
    alice.within(() => alice.ctx.threads.setDelivery(alice.messages(here.id)[0]?.key ?? 0, 'delivered'))
    const there = alice.delegate(bob, 'lies at the hub')
    await alice.send()
    world.pass(ANSWER_DEADLINE_MS)
    alice.tasks.deadlines.expireUnanswered()
    expect(alice.thread(here.id).reason).toMatch(/7 days, it arrived; a late answer/)
    expect(alice.thread(there.id).reason).toContain('(at hub)')
  })

  test('is left alone once it was answered, on the side of the provider, and by an old copy', async () => {
    const { id } = alice.delegate(bob)
    await world.settle()
    const other = alice.delegate(bob, 'unanswered')
    bob.say(id, 'yes')
    await world.settle()
    world.pass(ANSWER_DEADLINE_MS + DAY_MS)
    alice.ctx.hub.oldCopy = 'restored'
    alice.tasks.deadlines.expireUnanswered()
    expect(alice.thread(other.id).state).not.toBe('expired')
    alice.ctx.hub.oldCopy = undefined
    alice.tasks.deadlines.expireUnanswered()
    bob.tasks.deadlines.expireUnanswered()
    expect(alice.thread(other.id).state).toBe('expired')
    expect(alice.thread(id).state).toBe('open')
    expect(bob.thread(id).state).toBe('open')
  })

  test('is open again with a late answer', async () => {
    const { id } = alice.delegate(bob)
    await world.settle()
    world.pass(ANSWER_DEADLINE_MS)
    alice.tasks.deadlines.expireUnanswered()
    bob.say(id, 'late')
    await world.settle()
    expect(alice.thread(id)).toMatchObject({ state: 'open', reason: null })
  })
})
