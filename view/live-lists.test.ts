/** Pages and parts that a view asks its node for. */
import { afterEach, describe, expect, test } from 'vitest'
import { Live } from './live.ts'
import { narrowing } from './rows.ts'
import { Clock, idOf, item, NOW, ScriptedNode, threadOf, turn } from './testing.ts'

let live: Live
let node: ScriptedNode
let clock: Clock
afterEach(() => live?.stop())

async function follow(answers: ConstructorParameters<typeof ScriptedNode>[0] = {}): Promise<void> {
  node = new ScriptedNode(answers)
  clock = new Clock()
  live = new Live(node, clock)
  void live.run()
  await clock.pass(1000)
}
const list = (...items: ReturnType<typeof item>[]) => ({ items, new_cursor: 'n0.0' })
const inputs = (name: string) => node.calls.filter(call => call.name === name).map(({ input }) => input)

describe('a list', () => {
  test('is narrowed by what waits for a yes and what was archived, in the words of each operation', async () => {
    await follow()
    for (const side of ['received', 'sent'] as const) {
      live.narrow(side, narrowing({ pendingOnly: true }))
      await clock.pass(500)
      live.narrow(side, narrowing({ archived: true }))
      await clock.pass(500)
    }
    expect(inputs('inbox').slice(1)).toEqual([
      { limit: 50, needs: true },
      { limit: 50, archived: true },
    ])
    expect(inputs('results').slice(1)).toEqual([
      { limit: '50', needs: 'true' },
      { limit: '50', archived: 'true' },
    ])
  })

  test('that is narrowed to the same again asks nothing', async () => {
    await follow()
    for (let twice = 0; twice < 2; twice++) {
      live.narrow('received', narrowing({ filter: 'x' }))
      await clock.pass(500)
    }
    expect(inputs('inbox')).toHaveLength(2)
  })

  test('of which all is here is asked for no further page', async () => {
    await follow({ inbox: () => list(item(1)) })
    await live.more('received')
    await live.all('received')
    expect(inputs('inbox')).toHaveLength(1)
  })

  test('whose cursor does not move on is asked for no more', async () => {
    await follow({ inbox: () => ({ ...list(item(1)), next_cursor: 'c' }) })
    await live.all('received')
    expect(inputs('inbox')).toHaveLength(2)
  })

  test('names a hundred rows in two questions', async () => {
    await follow({ interactions: () => ({ items: [] }) })
    for (let n = 0; n < 100; n++) node.emit('message', { interaction_id: idOf(n) }, `${n}`)
    await clock.pass(500)
    expect(
      inputs('interactions').map(input => (input as { interaction_ids: [] }).interaction_ids.length),
    ).toEqual([50, 50])
  })
})

describe('evidence', () => {
  const record = (seq: number) => ({ seq, id: `r${seq}`, prev_id: `r${seq - 1}`, event_type: 'x' }) as never
  const evidence = ({
    before = 7,
    limit = 0,
  }: {
    before?: number | undefined
    limit?: number | undefined
  }) => {
    const records = Array.from({ length: Math.min(limit, 3) }, (_, n) => before - 1 - n)
    return { records: records.filter(seq => seq >= 0).map(record), length: 7 } as never
  }
  const heads = { evidence, evidenceHeads: () => ({ heads: [] }) as never }

  test('is read on until there is enough, and no further than its first record', async () => {
    await follow(heads)
    await live.moreEvidence()
    expect(inputs('evidence')).toEqual([])
    await live.openEvidence()
    await live.evidenceUntil(() => live.view.evidence.records.length >= 5)
    expect(live.view.evidence.records.map(({ seq }) => seq)).toEqual([6, 5, 4, 3, 2, 1])
    await live.evidenceUntil(() => false)
    expect(live.view.evidence.records.at(-1)?.seq).toBe(0)
    const asked = inputs('evidence').length
    await live.moreEvidence()
    await live.evidenceUntil(() => false)
    expect(inputs('evidence')).toHaveLength(asked)
  })

  test('is asked for by nobody who has not opened it, and stays fresh for those who have', async () => {
    await follow(heads)
    node.emit('evidence', {}, '1')
    await clock.pass(500)
    expect(inputs('evidence')).toHaveLength(0)
    await live.openEvidence()
    node.emit('evidence', {}, '2')
    await clock.pass(500)
    expect(inputs('evidence')).toHaveLength(2)
    node.emit('hub', {}, '3')
    await clock.pass(500)
    expect(inputs('evidence')).toHaveLength(2)
  })
})

describe('a thread', () => {
  test('is kept fresh while it is open, and marked as read where a person sees it', async () => {
    await follow({
      thread: () => threadOf(1, { turns: [turn(1)] }),
      interactions: () => ({ items: [item(1)] }),
    })
    await live.openThread(idOf(1), true)
    expect(inputs('thread')).toMatchObject([{ from_turn: 1, mark_read: true, to_person: true }])
    await clock.pass(500)
    live.closeThread()
    const asked = inputs('thread').length
    node.emit('message', { interaction_id: idOf(1) }, '1')
    await clock.pass(500)
    expect(inputs('thread')).toHaveLength(asked)
  })
})

test('agents are asked for further pages as long as there are some', async () => {
  await follow({
    find: ({ cursor }) =>
      ({ agents: [], ...(cursor === undefined && { next_cursor: 'c' }), at: NOW }) as never,
  })
  await live.moreAgents()
  await live.find('words')
  await live.moreAgents()
  await live.moreAgents()
  expect(inputs('find')).toMatchObject([{ limit: 50 }, { limit: 50, cursor: 'c' }])
})
