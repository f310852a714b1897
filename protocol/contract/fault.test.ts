/** Sentences about values that do not have the shape of their row: ours, whichever shape it is. */
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { operations } from '../control/operations.ts'
import { wire3Routes } from '../wire3/routes.ts'
import { faultOf } from './fault.ts'
import type { RouteRow, Shape } from './route.ts'

/** Words of the validation library, and of programs instead of people. */
const FOREIGN = /Invalid|Too (small|big)|Unrecognized|received|undefined|NaN|pattern|discriminator|\[object/
const PLAIN =
  /^(unknown member: \S+|\S.* is missing|\S.*: expected \S.*|\S.* does not have the expected form|\S.*: \S.*together)$/

/** Values that hardly any member takes. */
const strange: unknown[] = [
  null,
  7,
  -1,
  1.5,
  2 ** 60,
  true,
  '',
  ' ',
  'x'.repeat(100_000),
  [],
  [null],
  Array(2000).fill('x'),
  {},
  { a: 1 },
]

const rows: [string, Shape][] = Object.entries({ ...operations, ...wire3Routes }).flatMap(([name, row]) => {
  const { request, query }: RouteRow = row
  return [request, query].filter(shape => shape !== undefined).map(shape => [name, shape] as [string, Shape])
})

function membersOf(shape: Shape): string[] {
  return shape instanceof z.ZodObject ? Object.keys(shape.shape) : []
}

describe('what is wrong with a request is said in plain words', () => {
  test.each(rows)('of %s', (_, shape) => {
    const given = [
      ...strange,
      ...membersOf(shape).flatMap(member => strange.map(value => ({ [member]: value }))),
      { 'no-such-member': 1 },
    ]
    for (const value of given) {
      const read = shape.safeParse(value)
      if (read.success) continue
      for (const issue of read.error.issues) {
        const sentence = faultOf(new z.ZodError([issue]), value, 'the request')
        expect(sentence).not.toMatch(FOREIGN)
        expect(sentence).toMatch(PLAIN)
        expect(sentence).not.toContain('expected another')
      }
    }
  })
})

const shape = z.strictObject({
  name: z.string().min(1).max(3),
  count: z.int().min(2).max(4),
  kind: z.enum(['a', 'b']),
  tags: z.array(z.string()).max(1),
  on: z.boolean(),
})
const right = { name: 'x', count: 2, kind: 'a', tags: [], on: true }

test.each([
  [{ name: '' }, 'name: expected at least 1 character'],
  [{ name: 'long' }, 'name: expected at most 3 characters'],
  [{ name: 1 }, 'name: expected a string'],
  [{ name: undefined }, 'name is missing'],
  [{ count: 1 }, 'count: expected 2 or more'],
  [{ count: 5 }, 'count: expected 4 or less'],
  [{ count: 2.5 }, 'count: expected a whole number'],
  [{ kind: 'c' }, 'kind: expected a or b'],
  [{ tags: ['a', 'b'] }, 'tags: expected at most 1 entry'],
  [{ tags: [1] }, 'tags.0: expected a string'],
  [{ on: 'yes' }, 'on: expected true or false'],
  [{ more: 1 }, 'unknown member: more'],
])('%j: %s', (change, sentence) => {
  const value = { ...right, ...change }
  const read = shape.safeParse(value)
  expect(read.success ? 'accepted' : faultOf(read.error, value, 'the request')).toBe(sentence)
})

test('a value that is none at all is named as a whole', () => {
  expect(faultOf(shape.safeParse(7).error ?? new z.ZodError([]), 7, 'the request')).toBe(
    'the request: expected an object',
  )
})

test('a number far beyond a bound is refused with the bound, as one just beyond it', () => {
  const shape = z.strictObject({ wait_s: z.int().min(0).max(45) })
  for (const wait_s of [46, 1e17])
    expect(faultOf(shape.safeParse({ wait_s }).error ?? new z.ZodError([]), { wait_s }, 'the request')).toBe(
      'wait_s: expected 45 or less',
    )
})
