import { afterEach, beforeEach, expect, test } from 'vitest'
import { expiryOf } from '../maintenance.ts'
import { dueEntries } from '../store/outbox.ts'
import { heldSize, outboxSize } from '../store/outbox-sizes.ts'
import { DAY_MS, type TestNode, TestWorld } from '../testing/node.ts'

let world: TestWorld
let alice: TestNode
let id: string

beforeEach(async () => {
  world = new TestWorld()
  const pair = await world.pair()
  alice = pair.alice
  id = alice.delegate(pair.bob).id
  alice.mail.holding.set(alice.thread(id), false)
})
afterEach(() => world[Symbol.asyncDispose]())

const due = () => dueEntries(alice.ctx.store, alice.ctx.now()).map(({ message }) => message)

test('what a person held back stays, with what is said after it, also over the chores of a start', () => {
  expect(due()).toEqual([])
  alice.say(id, 'one more thing')
  expect([outboxSize(alice.ctx.store), heldSize(alice.ctx.store)]).toEqual([2, 2])
  expiryOf(alice.ctx).expire()
  expect(due()).toEqual([])
  world.pass(5 * DAY_MS)
  expiryOf(alice.ctx).expire()
  expect(due()).toEqual([])
})

test('whatever is said of why it waits, also over a rotation of the key', async () => {
  alice.ctx.store.run("UPDATE outbox SET last_error = 'the hub is away'")
  world.pass(5 * DAY_MS)
  expiryOf(alice.ctx).expire()
  await alice.rotate()
  expect([heldSize(alice.ctx.store), due()]).toEqual([1, []])
})

test('and leaves in its order once it is let go', () => {
  alice.say(id, 'one more thing')
  const [first] = alice.messages(id)
  expect(alice.mail.holding.set(alice.thread(id), true)).toMatchObject({ held: false, queued: 2 })
  expect(heldSize(alice.ctx.store)).toBe(0)
  expect(due()).toEqual([first?.key])
})

test('a step that was given up is said anew, with its number and all of its time', async () => {
  alice.mail.holding.set(alice.thread(id), true)
  const [task] = alice.messages(id)
  const key = task?.key ?? -1
  world.pass(29 * DAY_MS)
  alice.mail.settling.endOverdue()
  expect([alice.messages(id)[0]?.delivery, alice.thread(id).state]).toEqual(['unknown', 'expired'])
  expect(alice.mail.holding.set(alice.thread(id), true)).toMatchObject({ queued: 1 })
  expect(alice.thread(id)).toMatchObject({ state: 'queued', reason: null })
  expect(alice.entry(key).deadlineAt).toBe(world.clock.ms + 28 * DAY_MS)
  await world.settle()
  world.pass(60_000)
  await alice.ask()
  expect(alice.messages(id)[0]).toMatchObject({ number: 1, delivery: 'delivered', digest: task?.digest })
  expect(alice.thread(id).state).toBe('delivered')
})
