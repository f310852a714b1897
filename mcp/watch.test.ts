/** What came from others is told once. */
import { expect, test } from 'vitest'
import type { NodeEvent, NodeLink } from './tool.ts'
import { watch } from './watch.ts'

/** A node whose lists a test fills. */
function node(before: string[] = []) {
  const lists = { inbox: before, results: [] as string[] }
  const asked: { name: string; cursor: string | undefined }[] = []
  let hear: (event: NodeEvent) => void = () => {}
  let cursors = 0
  const link = {
    call: async (name: 'inbox' | 'results', body?: { cursor?: string }, query?: { cursor?: string }) => {
      asked.push({ name, cursor: (body ?? query)?.cursor })
      const items = lists[name].splice(0, 50).map(interaction_id => ({ interaction_id }))
      return { items, new_cursor: `c${++cursors}` }
    },
    listen: (onEvent: typeof hear) => {
      hear = onEvent
      return () => {
        hear = () => {}
      }
    },
  } as unknown as NodeLink
  const told: string[] = []
  const stop = watch(link, {
    task: ({ interaction_id }) => told.push(interaction_id),
    status: () => told.push('status'),
    node: isThere => told.push(isThere ? 'there' : 'gone'),
  })
  const says = async (type: string) => {
    hear({ type, data: {} } as never)
    for (let n = 0; n < 30; n++) await Promise.resolve()
  }
  return { lists, asked, told, says, stop }
}

test('the first look takes the cursors alone, and each later one goes on from them', async () => {
  const { lists, asked, told, says } = node(['before'])
  await says('hub')
  expect(told).toEqual(['status'])
  lists.inbox.push('a')
  lists.results.push('b')
  await says('message')
  expect(told).toEqual(['status', 'status', 'a', 'b'])
  expect(asked.map(({ name, cursor }) => [name, cursor])).toEqual([
    ['inbox', undefined],
    ['results', undefined],
    ['inbox', 'c1'],
    ['results', 'c2'],
  ])
})

test('lists that are full are read on', async () => {
  const { lists, told, says } = node()
  await says('hub')
  lists.inbox.push(...Array.from({ length: 60 }, (_, n) => `t${n}`))
  await says('inbox')
  expect(told.filter(one => one.startsWith('t'))).toHaveLength(60)
})

test('a node that goes, and is there again, is told once each', async () => {
  const { told, says } = node()
  for (const type of ['shutdown', 'shutdown', 'reset', 'hub']) await says(type)
  expect(told).toEqual(['gone', 'there', 'status', 'status'])
})

test('settings change no task, and what is stopped hears no more', async () => {
  const { asked, told, says, stop } = node()
  await says('settings')
  expect([asked.length, told]).toEqual([2, ['status']])
  await says('delivery')
  stop()
  await says('message')
  expect([asked.length, told]).toEqual([2, ['status']])
})
