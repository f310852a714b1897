import { describe, expect, test } from 'vitest'
import { cutToFit, fitPage, RESULT_CHARACTERS_DEFAULT, size } from './budget.ts'
import { definitions } from './server.ts'

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

describe('the nine tools', () => {
  test('have these names, in this order', () => {
    expect(definitions.map(definition => definition.name)).toEqual(NAMES)
  })

  test('take together at most 9,000 characters of JSON', () => {
    expect(size(definitions)).toBeLessThanOrEqual(9_000)
  })

  test.each(definitions.map(definition => [definition.name, definition] as const))(
    '%s sets all four hints, refuses unknown arguments and declares its errors',
    (_, definition) => {
      expect(Object.keys(definition.annotations).sort()).toEqual([
        'destructiveHint',
        'idempotentHint',
        'openWorldHint',
        'readOnlyHint',
      ])
      expect(definition.inputSchema).toMatchObject({ type: 'object', additionalProperties: false })
      expect(definition.outputSchema).toMatchObject({
        type: 'object',
        properties: { error: { type: 'object' } },
      })
      expect(definition.outputSchema['additionalProperties']).toBeUndefined()
    },
  )

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
    const page = await fitPage(50, async limit => {
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
})
