/** What a list tells of a task: words once for each cursor, and a proposed end as news of its own. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { acceptEnd, proposeEnd } from '../tasks/conversation.ts'
import { type TestNode, TestWorld } from '../testing/node.ts'
import { listOf, markRead } from './listing.ts'

let world: TestWorld
let alice: TestNode
let bob: TestNode
let id: string

beforeEach(async () => {
  world = new TestWorld()
  ;({ alice, bob, id } = await world.conversation('taken'))
})
afterEach(() => world[Symbol.asyncDispose]())

/** The news of a node's tasks, each call from where the one before ended. */
function listener(node: TestNode, side: 'sent' | 'received') {
  let cursor: string | undefined
  return () => {
    const { items, new_cursor } = listOf(node.ctx, { side, cursor })
    cursor = new_cursor
    return items.flatMap(item => item.news ?? [])
  }
}

const propose = async (node: TestNode) => {
  node.within(() => proposeEnd(node.ctx, node.thread(id)))
  await world.settle()
}

describe('news of a list', () => {
  test('are words that nobody read, once for each cursor', async () => {
    const heard = listener(bob, 'received')
    expect(heard()).toEqual([{ wrote: true, preview: 'count the words' }])
    expect(heard()).toEqual([])
    alice.say(id, 'more of it')
    await world.settle()
    expect(heard()).toEqual([{ wrote: true, preview: 'more of it' }])
    expect(heard()).toEqual([])
  })

  test('are a proposed end by itself, and not the words before it again', async () => {
    const heard = listener(bob, 'received')
    heard()
    await propose(alice)
    expect(heard()).toEqual([{ proposes_end: true }])
    expect(heard()).toEqual([])
    bob.within(() => acceptEnd(bob.ctx, bob.thread(id)))
    await world.settle()
    expect([heard(), listener(bob, 'received')().map(({ proposes_end }) => proposes_end)]).toEqual([
      [],
      [undefined],
    ])
  })

  test('are the end that is proposed of a task whose words were read, until that is read too', async () => {
    const heard = listener(bob, 'received')
    markRead(bob.ctx, bob.thread(id))
    expect(heard()).toEqual([])
    await propose(alice)
    expect(listener(bob, 'received')()).toEqual([{ proposes_end: true }])
    markRead(bob.ctx, bob.thread(id))
    expect(heard()).toEqual([])
  })

  test('are last words together with the end that they propose', async () => {
    const heard = listener(alice, 'sent')
    heard()
    bob.say(id, 'the answer')
    await propose(bob)
    expect(heard()).toEqual([{ wrote: true, preview: 'the answer', proposes_end: true }])
  })

  test('are nothing that this side’s own proposal caused', async () => {
    const heard = listener(alice, 'sent')
    heard()
    await world.end({ alice, bob, id })
    expect([alice.thread(id).receiptState, heard()]).toEqual(['signed', []])
  })
})
