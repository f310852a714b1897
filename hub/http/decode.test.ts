/** Queries as routes read them. */
import { expect, test } from 'vitest'
import * as z from 'zod'
import { route } from '../../protocol/contract/route.ts'
import { Refusal } from '../core/refusal.ts'
import { decodeQuery } from './decode.ts'

const find = route({
  method: 'GET',
  path: '/find',
  auth: 'none',
  query: z.strictObject({ skill: z.string().optional(), tag: z.string().optional() }),
})

test('a query is read by its names', () => {
  expect(decodeQuery(find, 'skill=a%20b')).toEqual({ skill: 'a b' })
})

test.each([
  [
    'a zero character, which no database looks for',
    'skill=a%00b',
    'query parameter skill holds a zero character',
  ],
  ['a name twice', 'tag=a&tag=b', 'query parameter tag appears twice'],
  ['a name that is not known', 'else=a', expect.stringContaining('else')],
])('%s is refused', (_, query, why) => {
  let thrown: unknown
  try {
    decodeQuery(find, query)
  } catch (error) {
    thrown = error
  }
  expect(thrown).toBeInstanceOf(Refusal)
  expect(thrown).toMatchObject({ code: 'requestMalformed', facts: { why } })
})
