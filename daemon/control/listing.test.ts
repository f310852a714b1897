/** What a list tells of its tasks: words once for each cursor, a proposed end as news of its own, pages by state. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { cursorAfter, sinceCursor } from '../../protocol/control/cursors.ts'
import { GLIMPSES } from '../store/glimpses.ts'
import { createInteraction, updateInteraction } from '../store/interactions.ts'
import { pageQuestion } from '../store/lists.ts'
import { DAY_MS, type TestNode, TestWorld } from '../testing/node.ts'
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

/** The news of a node's tasks, each call from where the one before ended. */
function listener(node: TestNode, side: 'sent' | 'received') {
  let cursor: string | undefined
  return () => {
    const { items, new_cursor } = taskReading(node.ctx).lists.of({ side, cursor })
    cursor = new_cursor
    return items.flatMap(item => item.news ?? [])
  }
}

const propose = async (node: TestNode) => {
  node.within(() => node.tasks.endings.propose(node.thread(id)))
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
    bob.within(() => bob.tasks.endings.accept(bob.thread(id)))
    await world.settle()
    expect([heard(), listener(bob, 'received')().map(({ proposes_end }) => proposes_end)]).toEqual([
      [],
      [undefined],
    ])
  })

  test('are the end that is proposed of a task whose words were read, until that is read too', async () => {
    const heard = listener(bob, 'received')
    markRead(bob.ctx.store, bob.thread(id))
    expect(heard()).toEqual([])
    await propose(alice)
    expect(listener(bob, 'received')()).toEqual([{ proposes_end: true }])
    markRead(bob.ctx.store, bob.thread(id))
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

describe('a task in a list', () => {
  const listed = (node: TestNode, side: 'sent' | 'received') =>
    taskReading(node.ctx).lists.of({ side }).items[0]

  test('shows the newest words of either side, and what nobody read', async () => {
    expect(listed(bob, 'received')).toMatchObject({
      preview: 'count the words',
      unread: 1,
      unread_preview: 'count the words',
      attachments: 0,
    })
    expect(listed(bob, 'received')).not.toHaveProperty('preview_mine')
    bob.say(id, 'which words?')
    expect(listed(bob, 'received')).toMatchObject({
      preview: 'which words?',
      preview_mine: true,
      unread: 1,
      unread_preview: 'count the words',
      delivery: { state: 'queued' },
    })
    markRead(bob.ctx.store, bob.thread(id))
    expect(listed(bob, 'received')?.unread).toBe(0)
    expect(listed(bob, 'received')).not.toHaveProperty('unread_preview')
  })

  test('shows what became of its newest own message', async () => {
    expect(listed(alice, 'sent')?.delivery?.state).toBe('at_hub')
    alice.say(id, 'more of it')
    expect(listed(alice, 'sent')?.delivery?.state).toBe('queued')
  })

  test('go on after no moment that this node has not come to: another node gave it, or an older copy is here', () => {
    const since = (message: number, at: number) =>
      taskReading(bob.ctx).lists.of({ side: 'received', cursor: sinceCursor({ message, at }) })
    const { message } = taskReading(bob.ctx).changes.moment()
    expect(since(message, world.clock.ms).items).toEqual([])
    expect(() => since(message + 1, world.clock.ms)).toThrow(/^cursor: expected/)
    expect(since(message, world.clock.ms + DAY_MS).items).toEqual([])
    expect(() => since(message, world.clock.ms + DAY_MS + 1)).toThrow(/^cursor: expected/)
  })

  test.each([
    ['of characters of three bytes', '語'.repeat(250), '語'.repeat(200)],
    ['of characters of four bytes', '🦊'.repeat(150), '🦊'.repeat(100)],
    ['that begins with a NUL', `\0${'a'.repeat(250)}`, `\0${'a'.repeat(199)}`],
    ['that is short', 'ö', 'ö'],
  ])('shows the first 200 characters of a text %s', (_, text, shown) => {
    alice.say(id, text)
    expect(listed(alice, 'sent')?.preview).toBe(shown)
  })
})

describe('a page of a list', () => {
  const STATES = ['pending', 'open', 'end_proposed', 'ended', 'declined', 'failed'] as const
  /** Thirty tasks in six states, several of one moment each. */
  const fill = () =>
    bob.within(() => {
      for (let i = 0; i < 30; i++) {
        const made = createInteraction(
          bob.ctx.store,
          {
            id: `task-number-${i}`.padEnd(22, 'x'),
            delegator: alice.aid,
            peer: alice.aid,
            side: 'received',
            state: 'open',
            way: 'sealed',
            capability: null,
            preview: i % 2 === 0 ? 'even' : 'odd',
            commitment: null,
            requestCid: 'bafkrei',
          },
          0,
        )
        updateInteraction(bob.ctx.store, made, { state: STATES[(i * 5) % 6] as 'open' }, Math.floor(i / 4))
      }
    })

  test.each([
    ['everything', {}, [...STATES]],
    ['what is unfinished', { unfinished: true }, ['pending', 'open', 'end_proposed']],
    ['what waits for approval', { pending: true }, ['pending']],
    ['what has ended', { ended: true }, ['ended']],
  ])('holds %s, newest first, each once over all pages', (_, which, states) => {
    fill()
    const all = taskReading(bob.ctx).lists.of({ side: 'received', limit: 100 }).items
    const wanted = all.filter(({ state }) => (states as string[]).includes(state))
    const found: string[] = []
    let cursor: string | undefined
    do {
      const page = taskReading(bob.ctx).lists.of({ side: 'received', limit: 4, cursor, ...which })
      found.push(...page.items.map(item => item.interaction_id))
      cursor = page.next_cursor
    } while (cursor !== undefined)
    expect(wanted.length).toBeGreaterThan(4)
    expect(found).toEqual(wanted.map(item => item.interaction_id))
  })

  test('goes on after any of its rows, also one that was changed since', () => {
    fill()
    const { items } = taskReading(bob.ctx).lists.of({ side: 'received', limit: 100 })
    const third = items[2] as (typeof items)[number]
    const rest = () =>
      taskReading(bob.ctx).lists.of({ side: 'received', limit: 100, cursor: cursorAfter(third) }).items
    expect(rest()).toEqual(items.slice(3))
    const moved = bob.thread(items[9]?.interaction_id as string)
    bob.within(() => updateInteraction(bob.ctx.store, moved, {}, bob.clock.ms))
    expect(rest().map(row => row.interaction_id)).toEqual(
      [...items.slice(3, 9), ...items.slice(10)].map(row => row.interaction_id),
    )
  })

  test.each([`1.${'A'.repeat(22)}`, '1.2', `1.${'A'.repeat(23)}`, 'n1', 'n1.2.3', ''])(
    'does not begin with the cursor %o that no reply gave',
    cursor => {
      expect(() => taskReading(bob.ctx).lists.of({ side: 'received', cursor })).toThrow(
        /^cursor: expected the next_cursor/,
      )
    },
  )

  test('is searched by words in each of its states', () => {
    bob.say(id, 'a rare word')
    const found = (words: string) =>
      taskReading(bob.ctx).lists.of({ side: 'received', unfinished: true, q: words }).items.length
    expect([found('rare'), found('absent')]).toEqual([1, 0])
  })

  test('is filtered by words in any order: of any message, of a name, of an id and of a state', () => {
    bob.say(id, 'Rare Words stand here')
    bob.say(id, 'and this is the newest')
    bob.ctx.contacts.add(alice.aid, 'Ältere-Alice')
    const found = (words: string) => taskReading(bob.ctx).lists.of({ side: 'received', words }).items.length
    const fits = ['rare', 'wor RAR', 'ältere rare', id.slice(3, 9), 'open', alice.aid.slice(5, 12), ' ', '"']
    expect(fits.map(found)).toEqual([1, 1, 1, 1, 1, 1, 1, 0])
    expect(['absent', 'rare absent', 'tand', 'NOT', '*', '%'].map(found)).toEqual([0, 0, 0, 0, 0, 0])
    const many = Array.from({ length: 17 }, (_, n) => `w${n}`).join(' ')
    expect(() => found(many)).toThrow('words: expected at most 16 words, got 17')
  })

  test('is narrowed to what waits for a yes: a stranger, or a price that is open', () => {
    const needing = (node: TestNode, side: 'sent' | 'received') =>
      taskReading(node.ctx)
        .lists.of({ side, needs: true })
        .items.map(one => one.interaction_id)
    expect([needing(bob, 'received'), needing(alice, 'sent')]).toEqual([[], []])
    updateInteraction(bob.ctx.store, bob.thread(id), { state: 'pending' }, bob.clock.ms)
    alice.ctx.store.run(
      "INSERT INTO quotes (interaction, state, amount) VALUES (?, 'open', 5)",
      alice.thread(id).key,
    )
    expect([needing(bob, 'received'), needing(alice, 'sent')]).toEqual([[id], [id]])
  })

  test.each([{ unfinished: true }, { pending: true }, { ended: true }])(
    'asks for each state through an index, so that a long history is not read: %o',
    which => {
      const { sql } = pageQuestion({ side: 'received', ...which }, undefined, 21)
      const plan = bob.ctx.store
        .all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
        .map(({ detail }) => detail)
        .filter(detail => /^(?:SEARCH|SCAN|USE TEMP)/.test(detail))
      for (const step of plan)
        expect(step).toMatch(/USING COVERING INDEX interactions_by_state \(side=\? AND state=\?\)/)
      expect(plan.length).toBeGreaterThan(0)
    },
  )

  test('shows each task through indexes, without sorting its messages', () => {
    const plan = bob.ctx.store.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${GLIMPSES}`)
    expect(
      plan.map(({ detail }) => detail).filter(detail => /^SCAN(?! json_each)|TEMP B-TREE/.test(detail)),
    ).toEqual([])
  })
})
