/** Which key history on a machine may go on. */
import { expect, test } from 'vitest'
import { standingOf } from './one-history.ts'

test.each([
  ['is the same', ['a', 'b'], '2 b', 'held'],
  ['goes on from what was noted', ['a', 'b', 'c'], '2 b', 'held'],
  ['is the first that is noted', ['a'], undefined, 'held'],
  ['ends before what was noted', ['a'], '2 b', 'behind'],
  ['has another last event', ['a', 'x'], '2 b', 'other'],
  ['goes on from another event', ['a', 'x', 'c'], '2 b', 'other'],
  ['is not there', [], '2 b', 'behind'],
] as const)('a history that %s', (_, own, noted, standing) => {
  expect(standingOf(own, noted)).toBe(standing)
})
