import { afterEach, beforeEach, expect, test } from 'vitest'
import { expire } from '../maintenance.ts'
import { dueEntries, heldSize, outboxSize } from '../store/outbox.ts'
import { DAY_MS, type TestNode, TestWorld } from '../testing/node.ts'
import { setSending } from './holding.ts'

let world: TestWorld
let alice: TestNode
let id: string

beforeEach(async () => {
  world = new TestWorld()
  const pair = await world.pair()
  alice = pair.alice
  id = alice.delegate(pair.bob).id
  setSending(alice.ctx, alice.thread(id), false)
})
afterEach(() => world[Symbol.asyncDispose]())

const due = () => dueEntries(alice.ctx.store, alice.ctx.now()).map(({ message }) => message)

test('what a person held back stays, with what is said after it, also over the chores of a start', () => {
  expect(due()).toEqual([])
  alice.say(id, 'one more thing')
  expect([outboxSize(alice.ctx.store), heldSize(alice.ctx.store)]).toEqual([2, 2])
  expire({ ...alice.ctx })
  expect(due()).toEqual([])
  world.pass(5 * DAY_MS)
  expire({ ...alice.ctx })
  expect(due()).toEqual([])
})

test('and leaves in its order once it is let go', () => {
  alice.say(id, 'one more thing')
  const [first] = alice.messages(id)
  expect(setSending(alice.ctx, alice.thread(id), true)).toMatchObject({ held: false, queued: 2 })
  expect(heldSize(alice.ctx.store)).toBe(0)
  expect(due()).toEqual([first?.key])
})
