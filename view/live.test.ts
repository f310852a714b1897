/** A view that follows its node. */
import { afterEach, describe, expect, test } from 'vitest'
import { Live } from './live.ts'
import { NoStream } from './node-client.ts'
import { Clock, idOf, item, NOW, ScriptedNode, statusOf, threadOf } from './testing.ts'

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
