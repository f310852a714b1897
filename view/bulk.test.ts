/** Several tasks at once: which fit, what is asked once, what became of each. */
import { describe, expect, test } from 'vitest'
import type { InteractionSummary } from '../protocol/control/shapes.ts'
import {
  type Bulk,
  type BulkName,
  bulkQuestion,
  bulksOf,
  isDoneWith,
  runBulk,
  sayBulk,
  undoBulk,
} from './bulk.ts'
import { lookAgain } from './bulk-again.ts'
import { NodeGone } from './node-client.ts'
import { idOf, item, viewOf } from './testing.ts'

const price = (more: object = {}) => ({ amount: 7, network: 'hub:x', state: 'open' as const, ...more })
const view = viewOf([
  item(1, { state: 'pending', peer_name: null, preview: 'look over our terms' }),
  item(2, { state: 'open' }),
  item(3, { state: 'ended' }),
  item(4, { side: 'sent', payment: price() }),
  item(5, { side: 'sent', payment: price({ unheld: true }) }),
  item(6, { side: 'sent', state: 'open' }),
  item(7, { state: 'ended', archived: true }),
])
const all = [1, 2, 3, 4, 5, 6, 7].map(idOf)
const fitting = (name: BulkName) =>
  bulksOf(view, all)
    .find(bulk => bulk.name === name)
    ?.items.map(({ interaction_id: id }) => Number(id.slice(1)))
const bulk = (name: BulkName, ...items: InteractionSummary[]): Bulk => ({ name, label: name, items })

describe('several tasks', () => {
  test('are each offered what fits them, and what waits for a yes is never archived', () => {
    expect([fitting('approve'), fitting('decline'), fitting('archive'), fitting('unarchive')]).toEqual([
      [1, 4],
      [1, 2],
      [2, 3, 6],
      [7],
    ])
    expect(bulksOf(view, [])).toEqual([])
  })

  test('are asked about once, with every name, the words and what it costs', () => {
    const asked = bulkQuestion(bulksOf(view, all)[0] as Bulk)
    expect(asked.asks).toBe('Approve 2 tasks?')
    expect(asked.facts).toEqual([
      ['Abbbbbbbbb…', 'look over our terms'],
      ['bob', '7 credits: task 4'],
      ['price', '7 credits in all'],
      ['then', 'tasks of strangers are taken, and prices are paid'],
    ])
    expect([asked.yes, asked.canHaveReason]).toEqual(['Approve 2', false])
  })

  test('are done one by one, and one that fails holds up none', async () => {
    const [first, second, third] = [item(1), item(2), item(3)]
    const asked: unknown[] = []
    const results = await runBulk(bulk('decline', first, second, third), {
      view,
      reason: 'no time',
      act: async ({ name, input }) => {
        asked.push([name, input])
        if (asked.length === 2) throw new Error('it is over')
      },
    })
    expect(asked[0]).toEqual(['decline', { interaction_id: idOf(1), reason: 'no time' }])
    expect(asked).toHaveLength(3)
    expect(results.map(({ fault }) => fault)).toEqual([undefined, 'it is over', undefined])
    expect(sayBulk('decline', results)).toBe('2 tasks declined; 1 task not: bob: it is over')
    expect(undoBulk('decline', results)).toBeUndefined()
  })

  test('count as unknown where the node did not answer, and as what the node has then', async () => {
    const [done, lost, undone] = [item(1), item(2), item(3)]
    let asked = 0
    const results = await runBulk(bulk('archive', done, lost, undone), {
      view,
      act: async () => {
        asked += 1
        if (asked > 1) throw new NodeGone('the node is gone')
      },
    })
    expect(results.map(({ isUnknown }) => isUnknown)).toEqual([undefined, true, true])
    expect(sayBulk('archive', results)).toBe(
      '1 task archived; 2 tasks not known yet: the node did not answer, and is asked once it does',
    )
    expect(undoBulk('archive', results)?.items).toEqual([done])
    const answers = [new NodeGone('the node is gone'), { items: [item(2, { archived: true }), item(3)] }]
    let pauses = 0
    const again = await lookAgain('archive', results, {
      live: {
        ask: async () => {
          const answer = answers.shift()
          if (answer instanceof Error) throw answer
          return answer
        },
      } as never,
      pause: async () => {
        pauses += 1
      },
    })
    expect(pauses).toBe(2)
    expect(sayBulk('archive', again)).toBe(
      '2 tasks archived; 1 task not: bob: it was not done: the node went away before it',
    )
    expect(undoBulk('archive', again)?.items.map(one => one.interaction_id)).toEqual([idOf(1), idOf(2)])
  })

  test.each<[BulkName, object, boolean]>([
    ['approve', { state: 'pending' }, false],
    ['approve', { state: 'open' }, true],
    ['approve', { state: 'declined' }, false],
    ['approve', { side: 'sent', payment: price() }, false],
    ['approve', { side: 'sent', payment: price({ state: 'held' }) }, true],
    ['approve', { side: 'sent', payment: price({ state: 'refused' }) }, false],
    ['decline', { state: 'pending' }, false],
    ['decline', { state: 'declined' }, true],
    ['unarchive', { archived: true }, false],
    ['unarchive', {}, true],
  ])('are seen to be done with: %s, %o is %s', (name, more, isDone) =>
    expect(isDoneWith(name, item(1, more))).toBe(isDone),
  )

  test('are archived and put back by one operation, the one or the other way', async () => {
    for (const name of ['archive', 'unarchive'] as const) {
      const asked: unknown[] = []
      const act = async (given: { name: string; input: object }) => void asked.push([given.name, given.input])
      await runBulk(bulk(name, item(1)), { view, reason: '', act } as never)
      expect(asked).toEqual([['archive', { interaction_id: idOf(1), on: name === 'archive' }]])
    }
  })

  test('that were archived are put back together, but for those that were not', () => {
    const results = [{ item: item(1) }, { item: item(2), fault: 'it waits' }]
    expect(undoBulk('archive', results)).toMatchObject({
      name: 'unarchive',
      items: [{ interaction_id: idOf(1) }],
    })
    expect(sayBulk('archive', [{ item: item(1) }])).toBe('1 task archived')
  })
})
