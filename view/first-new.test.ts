/** Where a conversation is opened. */
import { expect, test } from 'vitest'
import { firstNew } from './first-new.ts'
import { threadOf, turn } from './testing.ts'

test('a conversation begins at the first words that were unread, whatever else came after them', () => {
  const turns = [turn(1), turn(2, { mine: true }), turn(3), turn(4), turn(5, { kind: 'end' })]
  const begin = (unread: number) => firstNew(threadOf(1, { turns }), unread)
  expect([0, 1, 2, 3, 9].map(begin)).toEqual([undefined, 4, 3, 1, 1])
  expect(firstNew(threadOf(1, { turns: [] }), 2)).toBeUndefined()
})
