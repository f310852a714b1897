/** A view that follows its node. */
import { afterEach, describe, expect, test } from 'vitest'
import { Live } from './live.ts'
import { NodeRefused, NoStream, NotTheNode } from './node-client.ts'
import { listShown, narrowing, taskItems } from './rows.ts'
import { BOB, Clock, idOf, item, NOW, ScriptedNode, statusOf, threadOf, turn } from './testing.ts'

let live: Live | undefined
afterEach(() => live?.stop())

async function following(node: ScriptedNode) {
  const clock = new Clock()
  live = new Live(node, clock)
  const frames: number[] = []
  live.subscribe(() => frames.push(clock.at))
  void live.run()
  await clock.pass(1000)
  return { live, clock, frames }
}
const list = (...items: ReturnType<typeof item>[]) => ({ items, new_cursor: 'n0.0' })

describe('a view', () => {
  test('loads status and the first rows of both sides, and is live', async () => {
    const node = new ScriptedNode({
      inbox: () => list(item(1)),
      results: () => list(item(2, { side: 'sent' })),
    })
    const { live } = await following(node)
    expect(live.view).toMatchObject({ connection: { state: 'live' }, status: { name: 'alice' } })
    expect([...live.view.interactions.keys()]).toEqual([idOf(1), idOf(2)])
  })

  test('asks anew for the one row that an event names', async () => {
    const node = new ScriptedNode({ interactions: () => ({ items: [item(7, { unread: 1 })] }) })
    const { live, clock } = await following(node)
    node.emit('message', { interaction_id: idOf(7) }, '41')
    await clock.pass(200)
    expect(node.calls.filter(call => call.name === 'interactions')).toEqual([
      { name: 'interactions', input: { interaction_ids: [idOf(7)] } },
    ])
    expect(live.view.interactions.get(idOf(7))?.unread).toBe(1)
    expect(node.count('inbox')).toBe(1)
  })

  test('tells of a thousand changes at most ten times a second', async () => {
    const node = new ScriptedNode({ interactions: () => ({ items: [item(1, { unread: 1 })] }) })
    const { clock, frames } = await following(node)
    frames.length = 0
    for (let n = 0; n < 1000; n += 1) {
      node.emit('message', { interaction_id: idOf(1) }, String(n))
      await clock.pass(2)
    }
    expect(clock.at - NOW).toBeGreaterThan(2_900)
    expect(frames.length).toBeGreaterThan(5)
    expect(frames.length).toBeLessThanOrEqual(22)
  })

  test('shows at once what a person asked for', async () => {
    const node = new ScriptedNode({ thread: () => threadOf(1), interactions: () => ({ items: [item(1)] }) })
    const { live, clock } = await following(node)
    await clock.pass(5)
    await live.openThread(idOf(1), true)
    expect(live.view.threads.get(idOf(1))?.thread?.turns).toHaveLength(1)
  })

  test('joins the parts of a long thread', async () => {
    const node = new ScriptedNode({
      thread: ({ from_turn: from = 1 }) =>
        from === 1
          ? { ...threadOf(1), next_turn: 2 }
          : { ...threadOf(1), turns: [{ ...threadOf(1).turns[0]!, n: 2 }] },
    })
    const { live } = await following(node)
    await live.openThread(idOf(1), false)
    expect(live.view.threads.get(idOf(1))?.thread?.turns.map(turn => turn.n)).toEqual([1, 2])
  })

  test('goes on from its cursor after the connection broke', async () => {
    const node = new ScriptedNode({ interactions: () => ({ items: [] }) })
    const { live, clock } = await following(node)
    node.emit('message', { interaction_id: idOf(1) }, '41')
    await clock.pass(200)
    node.cut()
    await clock.pass(100)
    expect(live.view.connection.state).toBe('lost')
    await clock.pass(1_000)
    expect(live.view.connection.state).toBe('live')
    expect(node.opened).toEqual([undefined, '41'])
  })

  test('says that the node is gone, and finds it again', async () => {
    const node = new ScriptedNode()
    node.isDown = true
    const { live, clock } = await following(node)
    expect(live.view.connection).toMatchObject({ state: 'lost', says: 'no node answers', next: 'svc up' })
    node.isDown = false
    await clock.pass(12_000)
    expect(live.view.connection.state).toBe('live')
  })

  test('knows a stop of the node from a fault', async () => {
    const node = new ScriptedNode()
    const { live, clock } = await following(node)
    node.isDown = true
    node.emit('shutdown')
    await clock.pass(100)
    expect(live.view.connection.state).toBe('stopped')
  })

  test('keeps saying that the node was stopped until it answers', async () => {
    const node = new ScriptedNode()
    const { live, clock } = await following(node)
    node.isDown = true
    node.emit('shutdown')
    await clock.pass(60_000)
    expect(live.view.connection.state).toBe('stopped')
    node.isDown = false
    await clock.pass(60_000)
    expect(live.view.connection.state).toBe('live')
  })

  test('says who answers in the place of a node that was stopped, and what helps', async () => {
    const node = new ScriptedNode()
    const { live, clock } = await following(node)
    node.events = () => {
      throw new NotTheNode('whoever answers does not know this page', 'svc console')
    }
    node.emit('shutdown')
    await clock.pass(60_000)
    expect(live.view.connection).toMatchObject({
      state: 'lost',
      says: 'whoever answers does not know this page',
      next: 'svc console',
    })
  })

  test('searches the directory anew once a hub that was away is there again', async () => {
    const hub = statusOf().hub as NonNullable<ReturnType<typeof statusOf>['hub']>
    let state: 'offline' | 'online' = 'offline'
    const node = new ScriptedNode({
      status: () => statusOf({ hub: { ...hub, state } }),
      find: () => {
        if (state === 'offline') throw new NodeRefused('hub_unreachable', 'hub unreachable')
        return { agents: [], searched: 'own_hub' }
      },
    })
    const { live, clock } = await following(node)
    await live.find('review')
    expect(live.view.agents.refusal?.says).toBe('hub unreachable')
    state = 'online'
    live.refreshStatus()
    await clock.pass(200)
    expect(live.view.agents).toMatchObject({ query: 'review', refusal: undefined })
    live.refreshStatus()
    await clock.pass(200)
    expect(node.count('find')).toBe(2)
  })

  test('loads everything anew where too much was missed', async () => {
    const node = new ScriptedNode()
    const { clock } = await following(node)
    node.emit('reset', {}, '900')
    await clock.pass(200)
    expect(node.count('inbox')).toBe(2)
  })

  test('gives up a stream that is silent for long', async () => {
    const node = new ScriptedNode()
    const { clock } = await following(node)
    await clock.pass(30_000)
    node.emit('alive')
    await clock.pass(30_000)
    expect(node.opened).toHaveLength(1)
    await clock.pass(20_000)
    expect(node.opened).toHaveLength(2)
  })

  test('asks every few seconds where the node has no stream', async () => {
    const node = new ScriptedNode()
    node.events = () => {
      throw new NoStream('not found')
    }
    const { live, clock } = await following(node)
    await clock.pass(11_000)
    expect(live.view.connection.state).toBe('polling')
    expect(node.count('inbox')).toBeGreaterThanOrEqual(3)
  })

  test('loads all rows where all are wanted', async () => {
    const node = new ScriptedNode({
      inbox: ({ cursor }) => ({
        ...list(item(Number(cursor ?? 0))),
        ...(cursor === '3' ? {} : { next_cursor: String(Number(cursor ?? 0) + 1) }),
      }),
    })
    const { live } = await following(node)
    await live.all('received')
    expect(live.view.interactions.size).toBe(4)
  })

  test('asks the node for what a list is narrowed to, once nothing more is typed, and for the rest of it', async () => {
    const node = new ScriptedNode({
      inbox: ({ words, cursor }) => {
        if (words === undefined) return list(item(1))
        return cursor === undefined ? { ...list(item(7)), next_cursor: 'c2' } : list(item(8))
      },
    })
    const { live, clock } = await following(node)
    const asked = () => node.calls.filter(({ input }) => 'words' in (input as object))
    const rows = () =>
      taskItems(live.view, 'received', { filter: 'old report' }).map(one => one.interaction_id)
    for (const words of ['o', 'old', 'old report']) live.narrow('received', narrowing({ filter: words }))
    expect(listShown(live.view, 'received', { filter: 'old report' }).loading).toBe(true)
    await clock.pass(500)
    expect(asked()).toEqual([{ name: 'inbox', input: { limit: 50, words: 'old report' } }])
    expect(rows()).toEqual([idOf(7)])
    await live.all('received')
    expect(rows()).toEqual([idOf(7), idOf(8)])
    expect(listShown(live.view, 'received', { filter: 'old report' })).toMatchObject({ loaded: true })
    live.narrow('received', undefined)
    expect(live.view.found.received).toBeUndefined()
    await clock.pass(500)
    expect(asked()).toHaveLength(2)
  })

  test('reads the rest of a long text on demand, and keeps it when the thread is asked for anew', async () => {
    const part = (text: string, next_char?: number) =>
      threadOf(1, {
        turns: [turn(1, { text, truncated: true, chars: 6, ...(next_char && { next_char }) })],
      })
    const node = new ScriptedNode({
      thread: ({ from_char }) => (from_char === 3 ? part('def') : part('abc', 3)),
      interactions: () => ({ items: [item(1)] }),
    })
    const { live, clock } = await following(node)
    await live.openThread(idOf(1), false)
    await live.moreText(idOf(1), 1)
    const held = () => live.view.threads.get(idOf(1))?.thread?.turns.map(one => [one.text, one.next_char])
    expect(held()).toEqual([['abcdef', undefined]])
    node.emit('message', { interaction_id: idOf(1) }, '41')
    await clock.pass(500)
    expect(node.count('thread')).toBe(3)
    expect(held()).toEqual([['abcdef', undefined]])
    await live.moreText(idOf(1), 1)
    expect(node.count('thread')).toBe(3)
  })

  test('searches all conversations by the beginnings of words, page by page', async () => {
    const match = (n: number) =>
      ({ interaction_id: idOf(n), side: 'sent', peer: BOB, peer_name: null, from: BOB, mine: false }) as const
    const node = new ScriptedNode({
      search: ({ cursor }) =>
        cursor === undefined
          ? { matches: [{ ...match(1), turn: 2, at: NOW, text: 'a report' }], next_cursor: '7' }
          : { matches: [{ ...match(2), turn: 1, at: NOW, text: 'reports' }] },
    })
    const { live } = await following(node)
    await live.search(' repo - of* ')
    await live.moreMatches()
    await live.moreMatches()
    expect(node.calls.filter(({ name }) => name === 'search').map(({ input }) => input)).toEqual([
      { words: 'repo* of*', limit: 50 },
      { words: 'repo* of*', limit: 50, cursor: '7' },
    ])
    expect(live.view.search.matches.map(({ interaction_id: id, turn }) => [id, turn])).toEqual([
      [idOf(1), 2],
      [idOf(2), 1],
    ])
  })

  test('asks anew after it did something', async () => {
    const node = new ScriptedNode({
      approve: () => ({ interaction_id: idOf(1), state: 'open' }),
      interactions: () => ({ items: [item(1)] }),
      status: () => statusOf(),
    })
    const { live, clock } = await following(node)
    await live.act('approve', { interaction_id: idOf(1) })
    await clock.pass(200)
    expect(live.view.interactions.get(idOf(1))?.state).toBe('open')
  })

  test('asks anew for a price that waits, since whoever pays it elsewhere names the paid task alone', async () => {
    const payment = { amount: 5, network: 'hub:x', state: 'open' } as const
    let isPaid = false
    const quote = () =>
      item(1, { side: 'sent', payment: isPaid ? { ...payment, state: 'held', paid_as: idOf(2) } : payment })
    const node = new ScriptedNode({
      results: () => list(quote()),
      interactions: () => ({ items: [quote(), item(2, { side: 'sent' })] }),
      thread: () => threadOf(1, { side: 'sent' }),
    })
    const { live, clock } = await following(node)
    await live.openThread(idOf(1), false)
    isPaid = true
    node.emit('message', { interaction_id: idOf(2) }, '41')
    await clock.pass(500)
    expect(live.view.interactions.get(idOf(1))?.payment).toMatchObject({ state: 'held', paid_as: idOf(2) })
    // also the conversation in which it is asked
    expect(node.count('thread')).toBe(2)
    expect(taskItems(live.view, 'sent').map(one => one.interaction_id)).toEqual([idOf(2)])
  })

  test('asks anew for a task with a price when the one that pays for it moves on', async () => {
    const payment = { amount: 5, network: 'hub:x', state: 'held', paid_as: idOf(2) } as const
    const node = new ScriptedNode({
      results: () => list(item(1, { side: 'sent', payment })),
      interactions: () => ({ items: [] }),
    })
    const { clock } = await following(node)
    node.emit('message', { interaction_id: idOf(2) }, '41')
    await clock.pass(200)
    expect(node.calls.find(call => call.name === 'interactions')?.input).toEqual({
      interaction_ids: [idOf(2), idOf(1)],
    })
  })
})
