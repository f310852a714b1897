/** A wrong call made right. */
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { mended } from './mend.ts'
import { reads, sends, type Tool } from './tool.ts'

const toolOf = (shape: z.ZodRawShape, more: Partial<Tool> = {}): Tool =>
  ({ name: 't', input: z.strictObject(shape), example: {}, annotations: sends, ...more }) as unknown as Tool

describe('an argument', () => {
  test('that is good stays, a bare one stands in a list, and an unknown one goes', () => {
    const tool = toolOf({ to: z.string(), attach: z.array(z.string()) }, { example: { to: '<aid>' } })
    expect(mended(tool, { to: 'bob', attach: '/a', x: 1, toString: 1 })).toEqual({
      to: 'bob',
      attach: ['/a'],
    })
  })

  test.each([
    [z.boolean(), '<true or false>'],
    [z.record(z.string(), z.json()), '<object>'],
    [z.string(), '<text>'],
    [z.array(z.string()), ['<text>']],
    [z.int().min(1).max(5), '<1 to 5>'],
    [z.int().min(1), '<1 or more>'],
    [z.enum(['a', 'b']).or(z.null()), '<value>'],
  ])('of a call that sends has a place where it is wrong', (schema, place) => {
    expect(mended(toolOf({ given: schema }), { given: Symbol.iterator, other: 1 })).toEqual({ given: place })
  })

  test('of a read is left out where it is wrong', () => {
    expect(mended(toolOf({ limit: z.int() }, { annotations: reads }), { limit: 'x' })).toEqual({})
  })

  test('that is wrong has the value of the example', () => {
    const tool = toolOf(
      { to: z.string(), task: z.string() },
      { example: { to: '<aid>', task: '<what to do>' } },
    )
    expect(mended(tool, { to: 5, task: 'count' })).toEqual({ to: '<aid>', task: 'count' })
  })
})

test('a call whose arguments are good one by one is about something else, and never the one that failed', () => {
  const tool = toolOf(
    { to: z.string(), task: z.string() },
    { example: { to: '<aid>', task: '<what to do>' } },
  )
  expect(mended(tool, { task: 'count', to: 'bob' })).toEqual({ to: '<aid>', task: 'count' })
  expect(mended(toolOf({}), {})).toEqual({})
})
