import { expect, test } from 'vitest'
import * as z from 'zod'
import type { RouteRow } from '../protocol/contract/route.ts'
import { operations } from '../protocol/control/operations.ts'
import { isTimeName, shownReply } from './reply.ts'

const withTimes = (value: unknown) => shownReply(value, text => text)

type Node = { description?: string; properties?: Record<string, Node>; items?: Node; anyOf?: Node[] }

/** Names of all members of a shape that are described as times. */
function timesOf(node: Node, name = ''): string[] {
  const own = node.description === 'Unix milliseconds' ? [name] : []
  const below = Object.entries(node.properties ?? {}).flatMap(([key, value]) => timesOf(value, key))
  const items = node.items === undefined ? [] : timesOf(node.items, name)
  return [...own, ...below, ...items, ...(node.anyOf ?? []).flatMap(one => timesOf(one, name))]
}

const replies = Object.values(operations).flatMap(({ reply }: RouteRow) =>
  reply === undefined ? [] : [reply],
)

test('each time in the reply of an operation is known by its name', () => {
  const names = new Set(
    replies.flatMap(reply =>
      timesOf(z.toJSONSchema(reply, { unrepresentable: 'any', io: 'output' }) as Node),
    ),
  )
  expect(names.size).toBeGreaterThan(5)
  expect([...names].filter(name => !isTimeName(name))).toEqual([])
})

test('a time stands beside its milliseconds, at any depth, and nothing else changes', () => {
  const at = Date.UTC(2026, 10, 21, 19, 0, 0, 5)
  const reply = { items: [{ last_at: at, unread: 3, preview: 'at' }], last_seen: null, answer_by: at }
  expect(withTimes(reply)).toEqual({
    items: [{ last_at: at, last_at_utc: '2026-11-21T19:00:00.005Z', unread: 3, preview: 'at' }],
    last_seen: null,
    answer_by: at,
    answer_by_utc: '2026-11-21T19:00:00.005Z',
  })
  expect(Object.keys(withTimes({ created_at: at, state: 'open' }) as object)).toEqual([
    'created_at',
    'created_at_utc',
    'state',
  ])
})

test('numbers that are no moment, and what others wrote, stay as they are', () => {
  for (const value of [{ at: 5 }, { at: -1 }, { at: 1e300 }, { at: 'x' }, { payload: { at: 1e12 } }, 7, null])
    expect(withTimes(value)).toEqual(value)
})

test('commands stand as they are called here in the own texts of a reply alone', () => {
  const reply = {
    warnings: ['x; svc up', 'y'],
    next: 'svc up',
    text: 'svc up',
    items: [{ mend: 'svc up', preview: 'svc up' }],
    payload: { next: 'svc up' },
    hub: { reason: 'svc up' },
    results: { reason: 'svc up' },
  }
  const called = (text: string) => text.replace('svc', 'npx svc')
  expect(shownReply(reply, called)).toEqual({
    ...reply,
    warnings: ['x; npx svc up', 'y'],
    next: 'npx svc up',
    hub: { reason: 'npx svc up' },
    items: [{ mend: 'npx svc up', preview: 'svc up' }],
  })
})
