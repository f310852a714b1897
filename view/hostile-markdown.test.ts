/** Markdown that somebody wrote to hold a screen up. */
import { expect, test } from 'vitest'
import { type Block, type Inline, markdownOf } from './markdown.ts'

/** Every block and inline below, counted. */
const size = (value: unknown): number =>
  value !== null && typeof value === 'object'
    ? 1 + Object.values(value).reduce<number>((sum, one) => sum + size(one), 0)
    : 0
const table = (columns: number, rows: number) =>
  `${'a|'.repeat(columns)}\n${'-|'.repeat(columns)}\n${'a\n'.repeat(rows)}`

test.each([
  ['one table', table(740, 1480)],
  ['a smaller one', table(150, 300)],
  ['many tables in many parts', `${table(60, 60)}\n`.repeat(200)],
])('%s has no more cells than a screen holds, whatever its head promises', (_, text) => {
  expect(size(markdownOf(text))).toBeLessThan(60_000)
})

test('lines without end are letters', () => {
  for (const text of ['|\n'.repeat(100_000), '|'.repeat(200_000)])
    expect(markdownOf(text)).toEqual([{ kind: 'paragraph', kids: [{ kind: 'text', text }] }])
})

test('a table that a person wrote is one', () => {
  expect(markdownOf(table(12, 60))).toMatchObject([{ kind: 'table' }])
})

test.each(['*a-', '*a-**', '~a-~~', '`a', '<a'])('%s again and again is letters at once', unit => {
  const text = unit.repeat(Math.floor(7_900 / unit.length))
  expect(markdownOf(text)).toEqual([{ kind: 'paragraph', kids: [{ kind: 'text', text }] }])
})

test('a text that is drawn again is not read again', () => {
  const text = 'some *words*'
  expect(markdownOf(text)).toBe(markdownOf(text))
})

test('a picture in a link is its words, so that one thing to press leads to one address', () => {
  const [paragraph] = markdownOf('[![a **b**](http://good.example/)](http://evil.example/)')
  const links = (kids: readonly Inline[]): string[] =>
    kids.flatMap(kid =>
      kid.kind === 'link' ? [kid.address, ...links(kid.kids)] : 'kids' in kid ? links(kid.kids) : [],
    )
  expect(links((paragraph as Extract<Block, { kind: 'paragraph' }>).kids)).toEqual(['http://evil.example/'])
})
