/** The contract of the store on the task board. */
import { expect } from 'vitest'
import type { BoardCard, BoardColumn, BoardEvent } from '../../store/board-port.ts'
import { NOW_MS, type Rule, rule, type World } from './world.ts'

const limits = { cardsMax: 3, ofCreatorMax: 2, inProgressMax: 1, doneBeforeMs: NOW_MS }
const card = (id: string, more: Partial<BoardCard> = {}): BoardCard => ({
  ...{
    id,
    version: 0,
    title: `title of ${id}`,
    taskdoc: '',
    state: 'open',
    column: 'ready',
    before: undefined,
  },
  ...{ creator: 'alice', assignee: undefined, createdMs: NOW_MS, updatedMs: NOW_MS },
  ...more,
})
const event = (more: Partial<BoardEvent> = {}): BoardEvent => ({
  ...{ madeMs: NOW_MS, atMs: NOW_MS, actor: 'alice', action: 'create', detail: '' },
  ...more,
})
const put = async ({ store }: World, one: BoardCard, what = event()) =>
  (await store.putBoardCard({ card: one, event: what, limits })).outcome

const claimed = (id: string, more: Partial<BoardCard> = {}) =>
  card(id, { version: 1, state: 'claimed', column: 'in_progress', assignee: 'bob', ...more })

export const boardRules: readonly Rule[] = [
  rule('keeps cards in the order in which they were made, and what happened to each', async world => {
    for (const id of ['b', 'a']) expect(await put(world, card(id))).toBe('stored')
    const claim = event({ actor: 'bob', action: 'claim', madeMs: NOW_MS + 1, detail: 'mine' })
    expect(await put(world, claimed('b', { before: 'ready' }), claim)).toBe('stored')
    await world.reopen()
    expect((await world.store.boardCards()).map(({ id, version }) => [id, version])).toEqual([
      ['b', 2],
      ['a', 1],
    ])
    expect(await world.store.boardCard('b')).toEqual({ ...claimed('b', { before: 'ready' }), version: 2 })
    expect(await world.store.boardCard('c')).toBeUndefined()
    expect(await world.store.boardEvents('b')).toEqual([
      { ...event(), seq: expect.any(Number) },
      { ...claim, seq: expect.any(Number) },
    ])
  }),

  rule('gives a column some at a time, in the order in which its cards were made', async world => {
    for (const id of ['b', 'a']) await put(world, card(id))
    await put(world, card('c', { creator: 'carol' }))
    await put(world, claimed('a'), event({ action: 'claim', madeMs: NOW_MS + 1 }))
    const column = async (name: BoardColumn, after: number, limit: number) => {
      const { cards, next } = await world.store.boardColumn({ column: name, after, limit })
      return { ids: cards.map(({ id }) => id), next }
    }
    const first = await column('ready', 0, 1)
    expect(first).toEqual({ ids: ['b'], next: expect.any(Number) })
    expect((await column('ready', first.next ?? 0, 1)).ids).toEqual(['c'])
    expect(await column('ready', 0, 5)).toEqual({ ids: ['b', 'c'], next: undefined })
    expect(await column('in_progress', 0, 5)).toEqual({ ids: ['a'], next: undefined })
    expect(await world.store.boardEventCount('a')).toBe(2)
    expect(await world.store.boardEventCount('nowhere')).toBe(0)
  }),

  rule('writes a card over the version that was read, and over no other', async world => {
    await put(world, card('a'))
    expect(await put(world, card('a'))).toBe('conflict')
    const both = [claimed('a'), claimed('a', { assignee: 'carol' })]
    const outcomes = await Promise.all(both.map(one => put(world, one)))
    expect(outcomes.sort()).toEqual(['conflict', 'stored'])
    expect(await world.store.boardEvents('a')).toHaveLength(2)
  }),

  rule('holds the board to its cards, and an assignee to those in progress', async world => {
    for (const id of ['a', 'b']) await put(world, card(id))
    expect(await put(world, card('c'))).toBe('tooManyOfCreator')
    expect(await put(world, card('c', { creator: 'carol' }))).toBe('stored')
    expect(await put(world, card('d', { creator: 'dave' }))).toBe('boardFull')
    expect(await put(world, claimed('a'))).toBe('stored')
    expect(await put(world, claimed('b'))).toBe('tooManyInProgress')
    expect(await put(world, claimed('b', { assignee: 'carol' }))).toBe('stored')
    expect(await put(world, claimed('a', { version: 2, title: 'the same card again' }))).toBe('stored')
    const done = { version: 3, column: 'done', state: 'accepted' } as const
    expect(await put(world, claimed('a', done))).toBe('stored')
    expect(await put(world, claimed('c'))).toBe('stored')
  }),

  rule('lets the card go that was done first, once a new one needs its place', async world => {
    const done = (id: string, ms: number) => card(id, { column: 'done', state: 'accepted', updatedMs: ms })
    const ids = async () => (await world.store.boardCards()).map(({ id }) => id)
    await put(world, done('a', NOW_MS - 1))
    await put(world, done('b', NOW_MS - 2))
    expect(await put(world, card('c'))).toBe('stored')
    expect(await ids()).toEqual(['a', 'c'])
    expect(await world.store.boardEvents('b')).toEqual([])
    expect(await put(world, card('d', { creator: 'dave' }))).toBe('stored')
    expect(await put(world, card('e', { creator: 'erin' }))).toBe('stored')
    expect(await ids()).toEqual(['c', 'd', 'e'])
  }),

  rule('keeps a card that was done of late', async world => {
    const done = card('a', { column: 'done', state: 'accepted', updatedMs: NOW_MS })
    await put(world, done)
    await put(world, card('b'))
    expect(await put(world, card('c'))).toBe('tooManyOfCreator')
    await put(world, card('d', { creator: 'dave' }))
    expect(await put(world, card('e', { creator: 'erin' }))).toBe('boardFull')
    expect(await world.store.boardCard('a')).toBeDefined()
  }),

  rule('tells when an agent last did something to a card, and whether it was this', async world => {
    await put(world, card('a'), event({ madeMs: 7 }))
    const did = (more: Partial<BoardEvent>) =>
      world.store.boardDone({ card: 'a', ...event({ madeMs: 7, ...more }) })
    expect(await did({})).toEqual({ latestMs: 7, isRepeat: true })
    expect(await did({ action: 'move' })).toEqual({ latestMs: 7, isRepeat: false })
    expect(await did({ madeMs: 8 })).toEqual({ latestMs: 7, isRepeat: false })
    expect(await did({ actor: 'bob' })).toEqual({ latestMs: 0, isRepeat: false })
  }),
]
