/** Tasks that a person took out of the lists: where they stand, and what brings them back. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createInteraction } from '../store/interactions.ts'
import { type TestNode, TestWorld } from '../testing/node.ts'
import { setArchived } from './archiving.ts'
import { markRead } from './listing.ts'
import { taskReading } from './parts.ts'

let world: TestWorld
let alice: TestNode
let bob: TestNode
let id: string

beforeEach(async () => {
  world = new TestWorld()
  ;({ alice, bob, id } = await world.conversation('taken'))
})
afterEach(() => world[Symbol.asyncDispose]())

const listing = (given: { archived?: boolean; words?: string; q?: string } = {}) =>
  taskReading(bob.ctx)
    .lists.of({ side: 'received', ...given })
    .items.map(item => [item.interaction_id, item.archived])

test('what is archived leaves the list, stands in its own, and is found by words', () => {
  expect(setArchived(bob.ctx.store, bob.ctx.events, bob.thread(id), true)).toEqual({
    interaction_id: id,
    archived: true,
  })
  expect(listing()).toEqual([])
  expect(listing({ archived: true })).toEqual([[id, true]])
  expect(listing({ words: 'count' })).toEqual([[id, true]])
  expect(listing({ q: 'count' })).toEqual([[id, true]])
  expect(taskReading(bob.ctx).lists.listed([bob.thread(id)])[0]?.archived).toBe(true)
  setArchived(bob.ctx.store, bob.ctx.events, bob.thread(id), false)
  expect([listing(), listing({ archived: true })]).toEqual([[[id, undefined]], []])
})

test('reading it leaves it there, and whatever happens in it brings it back', async () => {
  setArchived(bob.ctx.store, bob.ctx.events, bob.thread(id), true)
  markRead(bob.ctx.store, bob.thread(id))
  expect(listing()).toEqual([])
  world.pass(1000)
  alice.say(id, 'one more thing')
  await world.settle()
  expect([listing(), listing({ archived: true })]).toEqual([[[id, undefined]], []])
})

test('what waits for a yes of this side is not archived', () => {
  const { ctx } = bob
  const stranger = ctx.store.transaction(
    () =>
      createInteraction(
        ctx.store,
        {
          id: 'i'.repeat(22),
          delegator: alice.ctx.identity.aid,
          peer: alice.ctx.identity.aid,
          side: 'received',
          state: 'pending',
          way: 'sealed',
          capability: null,
          preview: 'let me in',
          commitment: null,
          requestCid: 'b',
        },
        ctx.now(),
      ),
    'test',
  )
  expect(() => setArchived(ctx.store, ctx.events, stranger, true)).toThrow('waits for your yes or no')
})
