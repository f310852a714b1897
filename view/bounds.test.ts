/** How long a text may be, in the unit that the node counts. */
import { describe, expect, test } from 'vitest'
import { asTask, grouped, measured, textBounds } from './bounds.ts'

describe('a text', () => {
  test('has no counter until its bound is near, and is refused beyond it', () => {
    const bound = { most: 10, unit: 'characters' } as const
    expect([7, 8, 10, 11].map(length => measured('x'.repeat(length), bound))).toEqual([
      { count: 7, says: undefined, fault: undefined },
      { count: 8, says: '8 of 10 characters', fault: undefined },
      { count: 10, says: '10 of 10 characters', fault: undefined },
      { count: 11, says: '11 of 10 characters', fault: '1 characters too many; at most 10 are taken' },
    ])
  })

  test('is counted in characters where the node counts characters, however many bytes they are', () => {
    expect(measured('é'.repeat(9), { most: 10, unit: 'characters' })).toMatchObject({ count: 9 })
    expect(measured('é'.repeat(9), { most: 10, unit: 'bytes' })).toMatchObject({ count: 18 })
  })

  test('is counted in bytes where the node counts bytes', () => {
    expect(measured('é'.repeat(512), textBounds.reason)).toMatchObject({ count: 1024, fault: undefined })
    expect(measured('é'.repeat(513), textBounds.reason).fault).toBe(
      '2 bytes too many; at most 1,024 are taken',
    )
  })

  test('that is a task is counted as its document, where an end of line takes two bytes', () => {
    expect(asTask('short\n')).toBe('short\n')
    const long = '\n'.repeat(400_000)
    expect(measured(asTask(long), textBounds.task).fault).toMatch(/bytes too many/)
  })
})

test('numbers are written in threes', () => {
  expect([1, 999, 1000, 659_456, 1_234_567].map(grouped)).toEqual([
    '1',
    '999',
    '1,000',
    '659,456',
    '1,234,567',
  ])
})
