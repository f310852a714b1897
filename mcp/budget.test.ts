/** What fits into a result, and where it goes on. */
import { describe, expect, test } from 'vitest'
import { cutToFit, fitPage, longestThatFits, size, wholeCharacters } from './budget.ts'

const list = (items: readonly unknown[], cut: boolean) => ({ items, cut })

describe('a list', () => {
  test('that fits stays whole, else as many items as fit, one at least', () => {
    const items = ['aaaa', 'bbbb', 'cccc']
    const whole = size(list(items, false))
    expect(cutToFit(items, whole, list)).toEqual({ items, cut: false })
    const two = size(list(items.slice(0, 2), true))
    expect(cutToFit(items, two, list)).toEqual({ items: ['aaaa', 'bbbb'], cut: true })
    expect(cutToFit(items, two - 1, list)).toEqual({ items: ['aaaa'], cut: true })
    expect(cutToFit(items, 0, list)).toEqual({ items: ['aaaa'], cut: true })
    expect(cutToFit(['aaaa'], 0, list)).toEqual({ items: ['aaaa'], cut: false })
  })
})

describe('a text', () => {
  const build = (text: string) => (length: number) => text.slice(0, length)

  test('is as long as fits', () => {
    expect(longestThatFits('abcdef', 8, build('abcdef'))).toBe(6)
    expect(longestThatFits('abcdef', 7, build('abcdef'))).toBe(5)
    expect(longestThatFits('abcdef', 0, build('abcdef'))).toBe(0)
  })

  test('ends with no half of a character', () => {
    const text = 'a\u{1f600}b'
    expect([0, 1, 2, 3, 4, 9].map(length => wholeCharacters(text, length))).toEqual([0, 1, 1, 3, 4, 4])
  })
})

describe('a page', () => {
  const rows = (count: number) => Array.from({ length: count }, () => ({ text: 'x'.repeat(500) }))
  const asked: [number, number | undefined][] = []
  const fetchPage = async (limit: number, wait: number | undefined) => {
    asked.push([limit, wait])
    return { rows: rows(limit) }
  }

  test('that is too long is cut where it can be, else fetched again shorter and without waiting', async () => {
    asked.length = 0
    expect((await fitPage(3, 20, fetchPage)).rows).toHaveLength(3)
    expect(asked).toEqual([[3, 20]])
    const short = await fitPage(20, 20, fetchPage)
    expect(asked.slice(1)).toEqual([
      [20, 20],
      [short.rows.length, undefined],
    ])
    expect(size(short.rows)).toBeLessThanOrEqual(3_800)
    const cut = await fitPage(20, 20, fetchPage, (_, kept) => ({ rows: [...kept] }))
    expect([cut.rows.length, asked.length]).toEqual([short.rows.length, 4])
  })

  test('leaves 200 characters of 4,000 for what stands around it', async () => {
    const rowsOf = (characters: number) => async () => ({ rows: [{}, { text: 'x'.repeat(characters) }] })
    const longest = 3_800 - size([{}, { text: '' }])
    expect((await fitPage(2, undefined, rowsOf(longest), () => undefined)).rows).toHaveLength(2)
    const cut = await fitPage(2, undefined, rowsOf(longest + 1), (_, kept) => ({ rows: [...kept] }))
    expect(cut.rows).toHaveLength(1)
  })
})
