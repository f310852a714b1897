/** From one view to the next. */
import { describe, expect, test } from 'vitest'
import { type Action, reduce } from './reduce.ts'
import { firstView, type Thread, type View } from './state.ts'
import { idOf, item, NOW, reply, threadOf, turn, viewOf } from './testing.ts'

const next = (view: View, ...actions: Action[]) => actions.reduce(reduce, view)
type Asked = 'inbox' | 'results' | 'thread' | 'find' | 'evidence' | 'search' | 'status'
const asking = (name: Asked, input: object = {}) => ({ type: 'asking', name, input, at: NOW }) as const
const refusal = { code: 'no', says: 'no', at: NOW }
const refused = (name: Asked, input: object = {}) => ({ type: 'refused', name, input, refusal }) as const
const event = (name: string, data: unknown, id: string | null = null) =>
  ({ type: 'event', event: { id, event: name, data }, at: NOW }) as const
const id = { interaction_id: idOf(1) }

describe('what is asked for loads, and no more once it was refused', () => {
  test.each([
    ['received', 'inbox'],
    ['sent', 'results'],
  ] as const)('the list %s', (side, name) => {
    const loading = next(firstView, asking(name))
    expect(loading.lists[side]).toMatchObject({ loading: true, loaded: false })
    expect(next(loading, refused(name)).lists[side]).toMatchObject({ loading: false, refusal })
  })

  test('a thread, which keeps what it has', () => {
    const held = next(firstView, reply('thread', id, threadOf(1)))
    const loading = next(held, asking('thread', id))
    expect(loading.threads.get(idOf(1))).toMatchObject({ loading: true, thread: {} })
    expect(next(loading, refused('thread', id)).threads.get(idOf(1))).toMatchObject({
      loading: false,
      refusal,
      thread: {},
    })
  })

  test('agents, and evidence', () => {
    const loading = next(firstView, asking('find', { query: 'x' }), asking('evidence'))
    expect([loading.agents, loading.evidence]).toMatchObject([
      { loading: true, query: 'x' },
      { loading: true },
    ])
    const over = next(loading, refused('find'), refused('evidence'))
    expect([over.agents, over.evidence]).toMatchObject([
      { loading: false, loaded: true, refusal },
      { loading: false, refusal },
    ])
  })

  test('anything else changes nothing', () => {
    expect(next(firstView, asking('status'), refused('status'))).toBe(firstView)
  })
})

describe('agents', () => {
  const agent = (aid: string) => ({ aid }) as never
  const find = (input: object, agents: string[], next?: string) =>
    reply('find', input, { agents: agents.map(agent), ...(next && { next_cursor: next }) } as never)
  const aids = ({ agents }: View) => agents.found.map(({ aid }) => aid)

  test('of a further page join those before it, each once', () => {
    const first = next(firstView, asking('find', { query: 'x' }), find({ query: 'x' }, ['a', 'b'], 'n'))
    expect([aids(first), first.agents.nextCursor, first.agents.loaded]).toEqual([['a', 'b'], 'n', true])
    const more = next(
      first,
      asking('find', { query: 'x', cursor: 'n' }),
      find({ query: 'x', cursor: 'n' }, ['b', 'c']),
    )
    expect([aids(more), more.agents.loading]).toEqual([['a', 'b', 'c'], false])
    expect(aids(next(more, find({ query: 'x' }, ['c'])))).toEqual(['c'])
  })

  test('of another question go at once, and an answer to an earlier one is passed over', () => {
    const found = next(firstView, asking('find', { query: 'x' }), find({ query: 'x' }, ['a']))
    expect(aids(next(found, asking('find', { query: 'x' })))).toEqual(['a'])
    const none = reply('find', { query: 'x' }, { agents: [], searched: 'all_hubs', partial: true })
    expect(next(found, none).agents).toMatchObject({ found: [], searched: { partial: true } })
    const other = next(found, asking('find', { capability: 'text.count' }))
    expect([aids(other), other.agents.query]).toEqual([[], 'cap:text.count'])
    expect(next(other, find({ query: 'x' }, ['a']))).toMatchObject({ agents: { loading: true, found: [] } })
  })
})

describe('a list', () => {
  const page = (input: object, next?: string) =>
    reply('inbox', input, { items: [item(1)], new_cursor: 'c', ...(next && { next_cursor: next }) } as never)

  test('goes on from its last page, and a first page that comes again changes no place', () => {
    const first = next(firstView, page({}, 'p2'))
    expect(first.lists.received).toMatchObject({ loaded: true, loading: false, nextCursor: 'p2' })
    const second = next(first, page({ cursor: 'p2' }, 'p3'))
    expect(second.lists.received.nextCursor).toBe('p3')
    expect(next(second, page({}, 'p2')).lists.received.nextCursor).toBe('p3')
    expect(next(second, page({ cursor: 'p3' })).lists.received.nextCursor).toBeUndefined()
  })
})

describe('a thread', () => {
  test('is joined from the turn on from which it was asked', () => {
    const turns = (...ns: number[]) => ({ ...threadOf(1), turns: ns.map(n => turn(n)) })
    const view = next(
      firstView,
      reply('thread', id, turns(1, 2, 3)),
      reply('thread', { ...id, from_turn: 3 }, turns(3, 4)),
    )
    const numbers = (one: View) => one.threads.get(idOf(1))?.thread?.turns.map(({ n }) => n)
    expect(numbers(view)).toEqual([1, 2, 3, 4])
    expect(numbers(next(view, reply('thread', id, turns(1))))).toEqual([1])
  })

  test('tells its row what became of the newest message, once it is here to its end', () => {
    const turns = [
      turn(1, { mine: true, delivery: { state: 'delivered' } }),
      turn(2, { mine: true, delivery: { state: 'queued', held: true } }),
      turn(3),
    ]
    const before = viewOf([item(1, { delivery: { state: 'delivered' } })])
    const shown = (more: Partial<Thread>, from: object = {}) =>
      next(before, reply('thread', { ...id, ...from }, threadOf(1, { turns, ...more }))).interactions.get(
        idOf(1),
      )
    expect(shown({})).toEqual(item(1, { delivery: { state: 'queued', held: true } }))
    const asBefore = item(1, { delivery: { state: 'delivered' } })
    expect(shown({ next_turn: 4 })).toEqual(asBefore)
    expect(shown({}, { from_turn: 2, from_char: 9 })).toEqual(asBefore)
    expect(shown({ turns: [turn(3)] })).toEqual(asBefore)
    // a row that is not here is not made
    expect(next(firstView, reply('thread', id, threadOf(1, { turns }))).interactions.size).toBe(0)
  })

  test('is kept with the nineteen that were opened last', () => {
    const opened = Array.from({ length: 21 }, (_, n) =>
      reply('thread', { interaction_id: idOf(n) }, threadOf(n)),
    )
    const { threads } = next(firstView, ...opened)
    expect([threads.size, threads.has(idOf(0)), threads.has(idOf(1))]).toEqual([20, false, true])
  })
})

test('records stand by falling number, each once', () => {
  const records = (...seqs: number[]) =>
    reply('evidence', {}, { head: { length: 9 }, records: seqs.map(seq => ({ seq })) } as never)
  const { evidence } = next(firstView, records(9, 8), records(8, 7))
  expect([evidence.records.map(({ seq }) => seq), evidence.loaded, evidence.loading]).toEqual([
    [9, 8, 7],
    true,
    false,
  ])
})

describe('an event', () => {
  test('moves the cursor where it has an id; a reset forgets it', () => {
    const seen = next(firstView, event('message', {}, '7'), event('hub', {}))
    expect([seen.cursor, seen.heardAt]).toEqual(['7', NOW])
    expect(next(seen, { type: 'reset' }).cursor).toBeUndefined()
  })

  test('of a transfer says how far it is, until it is over', () => {
    const sends = (data: object) =>
      next(firstView, event('transfer', { ...id, sent: 1, total: 4 }), event('transfer', data))
    expect(sends({ ...id, sent: 2, total: 4 }).transfers.sending.get(idOf(1))).toEqual({ sent: 2, total: 4 })
    for (const data of [
      { ...id, over: true },
      { ...id, sent: 0, total: 0 },
      { ...id, sent: 1 },
    ])
      expect(sends(data).transfers.sending.size).toBe(0)
    expect(sends({ received: 9 }).transfers).toMatchObject({ received: 9, sending: new Map([[idOf(1), {}]]) })
    expect(next(sends({ received: 9 }), event('transfer', {})).transfers.received).toBeUndefined()
    for (const name of ['open', 'reset'])
      expect(next(sends({ received: 9 }), event(name, null)).transfers).toBe(firstView.transfers)
  })

  test('of the auto-reply is kept with the 49 before it', () => {
    const runs = Array.from({ length: 51 }, (_, n) =>
      event('autoreply', { interaction_id: idOf(n), event: n === 50 ? 7 : 'started' }),
    )
    const view = next(firstView, ...runs, event('autoreply', null))
    expect(view.runs).toHaveLength(50)
    expect(view.runs.slice(0, 2)).toEqual([
      { interactionId: idOf(50), event: '', at: NOW },
      { interactionId: idOf(49), event: 'started', at: NOW },
    ])
  })
})

test('rows that come change no others, and no rows change nothing', () => {
  const view = viewOf([item(1), item(2)])
  const same = next(view, { ...reply('interactions', { interaction_ids: [] }, { items: [] }), at: NOW })
  expect(same.interactions).toBe(view.interactions)
  const items = [item(2, { unread: 3 })]
  const later = next(view, reply('interactions', { interaction_ids: [idOf(2)] }, { items }))
  expect([later.interactions.get(idOf(1)), later.interactions.get(idOf(2))?.unread]).toEqual([item(1), 3])
})

describe('a search', () => {
  const match = (n: number) => ({ interaction_id: idOf(n), turn: 1, at: NOW, text: 'x' }) as never
  const found = (input: { words: string; cursor?: string; interaction_id?: string }, ...ns: number[]) =>
    reply('search', { limit: 50, ...input }, { matches: ns.map(match), next_cursor: 'c' })
  const searched = next(firstView, asking('search', { words: 'a' }), found({ words: 'a' }, 1))
  const shown = ({ search }: typeof firstView) => search.matches.map(one => one.interaction_id)

  test('of the same words and conversation goes on behind what was found', () => {
    const going = next(searched, asking('search', { words: 'a', cursor: 'c' }))
    expect([shown(going), going.search.loading]).toEqual([[idOf(1)], true])
    expect(shown(next(going, found({ words: 'a', cursor: 'c' }, 2)))).toEqual([idOf(1), idOf(2)])
  })

  test.each([
    ['from its beginning', { words: 'a' }],
    ['of other words', { words: 'b', cursor: 'c' }],
    ['in another conversation', { words: 'a', cursor: 'c', interaction_id: idOf(9) }],
  ])('%s shows nothing of the one before', (_, input) => {
    const anew = next(searched, asking('search', input))
    expect([shown(anew), anew.search.loaded]).toEqual([[], false])
  })

  test('takes no answer to another one', () => {
    const other = next(searched, asking('search', { words: 'b' }))
    expect(shown(next(other, found({ words: 'a' }, 1)))).toEqual([])
    const within = next(searched, asking('search', { words: 'a', interaction_id: idOf(9) }))
    expect(shown(next(within, found({ words: 'a' }, 1)))).toEqual([])
  })
})
