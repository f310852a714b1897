import { describe, expect, test } from 'vitest'
import { readCursor } from '../protocol/control/cursors.ts'
import { operations } from '../protocol/control/operations.ts'
import type { InteractionSummary } from '../protocol/control/shapes.ts'
import { cutToFit, fitPage, RESULT_CHARACTERS_DEFAULT, size } from './budget.ts'
import { definitionOf } from './definitions.ts'
import { fenceWith } from './fence.ts'
import { taskList } from './task-list.ts'
import type { ToolContext } from './tool.ts'
import { tools } from './tools/all.ts'

const definitions = tools.map(definitionOf)

const NAMES = [
  'agents_find',
  'task_delegate',
  'task_results',
  'task_inbox',
  'task_message',
  'task_end',
  'evidence_read',
  'credit_balance',
  'node_status',
]

/** Tools whose replies hold words of others. */
const FOREIGN = ['agents_find', 'task_delegate', 'task_results', 'task_inbox', 'evidence_read']

describe('the nine tools', () => {
  test('have these names, in this order', () => {
    expect(definitions.map(definition => definition.name)).toEqual(NAMES)
  })

  test('cost a model at most 6,500 characters, and a client 9,500', () => {
    const received = definitions.map(({ name, description, inputSchema }) => ({
      name,
      description,
      inputSchema,
    }))
    expect(size(received)).toBeLessThanOrEqual(6_500)
    expect(size(definitions)).toBeLessThanOrEqual(9_500)
  })

  test.each(definitions.map(definition => [definition.name, definition] as const))(
    '%s sets all four hints, publishes its schemas open, and has words for every argument',
    (_, definition) => {
      expect(Object.keys(definition.annotations).sort()).toEqual([
        'destructiveHint',
        'idempotentHint',
        'openWorldHint',
        'readOnlyHint',
      ])
      expect(definition.inputSchema.type).toBe('object')
      expect(JSON.stringify([definition.inputSchema, definition.outputSchema])).not.toContain('additional')
      expect(definition.outputSchema.properties).toHaveProperty('error')
      const given = (definition.inputSchema['properties'] ?? {}) as Record<string, { description?: string }>
      const silent = Object.entries(given).filter(([, { description = '' }]) => description.length < 5)
      expect(silent).toEqual([])
    },
  )

  test('explain the markers wherever they return words of others, and name one cursor alike', () => {
    for (const { name, description, inputSchema, outputSchema } of definitions) {
      const returns = JSON.stringify(outputSchema)
      const isForeign = FOREIGN.includes(name)
      if (isForeign) expect(description, name).toContain('<<untrusted>>')
      const names = JSON.stringify([inputSchema, returns]).match(/\w*cursor\w*/g) ?? []
      expect(names.filter(found => !/^(next_|new_)?cursor$/.test(found))).toEqual([])
    }
  })

  test('declare every member that credits have', () => {
    const declared = tools.find(row => row.name === 'credit_balance')?.output ?? []
    expect([...declared].sort()).toEqual(Object.keys(operations.balance.reply.shape).sort())
  })

  test('have an example that fits their own shape', () => {
    for (const { name, example, input } of tools) {
      const filled = 'interaction_id' in example ? { ...example, interaction_id: 'A'.repeat(22) } : example
      expect(input.safeParse(filled).success, name).toBe(true)
    }
  })

  test('the first ten words of the descriptions hold the words a search for them uses', () => {
    const words = definitions.flatMap(({ description }) =>
      description
        .toLowerCase()
        .split(/[^a-z]+/)
        .slice(0, 10),
    )
    for (const word of ['inbox', 'task', 'delegate', 'agent', 'message', 'evidence', 'credit', 'status']) {
      expect(
        words.some(found => found.startsWith(word)),
        word,
      ).toBe(true)
    }
  })

  test('only reading tools are marked read-only', () => {
    const reading = definitions
      .filter(definition => definition.annotations.readOnlyHint)
      .map(definition => definition.name)
    expect(reading).toEqual([
      'agents_find',
      'task_results',
      'task_inbox',
      'evidence_read',
      'credit_balance',
      'node_status',
    ])
  })

  test('have schemas without what says nothing', () => {
    const text = JSON.stringify(definitions.map(({ inputSchema }) => inputSchema))
    expect(text).not.toMatch(/\$schema|\$ref|\$defs|propertyNames|additionalProperties|9007199254740991/)
    const status = definitions.find(({ name }) => name === 'node_status')
    expect(status?.inputSchema).toEqual({ type: 'object' })
    const delegate = definitions.find(({ name }) => name === 'task_delegate')
    expect(delegate?.inputSchema['properties']).toMatchObject({
      max_credits: { type: 'integer', minimum: 1, description: 'with pay: at most' },
    })
  })

  test('show a result of 1,000 to 8,000 characters', () => {
    const asked = definitions.flatMap(({ inputSchema }) => {
      const { max_chars } = Object(inputSchema['properties']) as { max_chars?: object }
      return max_chars === undefined ? [] : [max_chars]
    })
    expect(asked.length).toBeGreaterThan(0)
    for (const one of asked) expect(one).toMatchObject({ minimum: 1_000, maximum: 8_000 })
  })

  test('destroy nothing, and what may be repeated says so', () => {
    const named = (hint: 'destructiveHint' | 'idempotentHint' | 'openWorldHint', is: boolean) =>
      definitions.filter(({ annotations }) => annotations[hint] === is).map(({ name }) => name)
    expect(named('destructiveHint', true)).toEqual([])
    expect(named('idempotentHint', false)).toEqual(['task_delegate', 'task_message'])
    expect(named('openWorldHint', false)).toEqual(['evidence_read', 'node_status'])
  })
})

const context = { fence: fenceWith('00c0ffee') } as ToolContext
const summary = (i: number): InteractionSummary => ({
  interaction_id: String(i).padStart(22, '0'),
  side: 'received',
  peer: 'A'.repeat(44),
  peer_name: null,
  state: 'open',
  created_at: 1_790_000_000_000,
  last_at: 1_790_000_000_000 - i,
  preview: 'count the words',
  unread: 1,
  attachments: 0,
})

describe('the budget of a result', () => {
  test('keeps the longest prefix that fits, and at least one item', () => {
    const items = Array.from({ length: 50 }, (_, i) => ({ i, text: 'x'.repeat(90) }))
    const kept = cutToFit(items, 1_000, rows => rows)
    expect(size(kept)).toBeLessThanOrEqual(1_000)
    expect(size(items.slice(0, kept.length + 1))).toBeGreaterThan(1_000)
    expect(cutToFit([{ text: 'y'.repeat(5_000) }], 1_000, rows => rows)).toHaveLength(1)
  })

  test('a page that is too long is fetched again with the number of rows that fit, so its cursor is the right one', async () => {
    const asked: number[] = []
    const page = await fitPage(50, undefined, async limit => {
      asked.push(limit)
      return {
        rows: Array.from({ length: limit }, (_, i) => ({ i, text: 'x'.repeat(200) })),
        next: `after-${limit}`,
      }
    })
    expect(asked).toHaveLength(2)
    expect(page.next).toBe(`after-${page.rows.length}`)
    expect(size(page.rows)).toBeLessThanOrEqual(RESULT_CHARACTERS_DEFAULT)
  })

  test('a page of tasks that is too long ends with the last row that fits, and the cursor after it', async () => {
    const items = Array.from({ length: 50 }, (_, i) => summary(i))
    const asked: number[] = []
    const list = (cursor?: string) =>
      taskList({ limit: 50, cursor }, context, async limit => {
        asked.push(limit)
        return { items: items.slice(0, limit), new_cursor: `n${limit}.0` }
      })
    const shown = (await list()) as { items: { interaction_id: string }[]; next_cursor: string }
    const last = items[shown.items.length - 1] as InteractionSummary
    expect(asked).toEqual([50])
    expect(shown.items.map(row => row.interaction_id)).toEqual(
      items.slice(0, shown.items.length).map(item => item.interaction_id),
    )
    expect(readCursor(shown.next_cursor)).toEqual({
      kind: 'page',
      lastAt: last.last_at,
      interactionId: last.interaction_id,
    })
    expect(size(shown)).toBeLessThanOrEqual(RESULT_CHARACTERS_DEFAULT)
    // of changes since a moment only the node knows up to where the shown ones go
    expect(await list('n7.0')).toMatchObject({ new_cursor: `n${shown.items.length}.0` })
    expect(asked).toEqual([50, 50, shown.items.length])
  })
})
