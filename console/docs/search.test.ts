/** The search of the documents: which parts are found, and what is shown of them. */
import { describe, expect, test } from 'vitest'
import { excerptOf, searchOver } from './search.ts'

const part = (page: string, heading: string, text: string) => ({ page, heading, text, to: `${page}.html` })
const parts = [
  part('Install', 'On Linux', 'the package manager brings it'),
  part('Backup', 'Passphrase', 'whoever has the archive needs it, on Linux as well'),
  part('Hub', 'Registering', 'a hub may ask for work'),
]
const found = (words: string) => searchOver(parts)(words).map(({ page }) => page)

describe('a search', () => {
  test('finds the parts that have all words, a heading before a text', () => {
    expect(found('linux')).toEqual(['Install', 'Backup'])
    expect(found('linux archive')).toEqual(['Backup'])
  })

  test('finds those that have any word where none has them all', () => {
    expect(new Set(found('passphrase registering'))).toEqual(new Set(['Backup', 'Hub']))
    expect(found('nothing')).toEqual([])
  })

  test('takes beginnings of words, and a slip of a finger in a longer one', () => {
    expect(found('pass')).toEqual(['Backup'])
    expect(found('registring')).toEqual(['Hub'])
    expect(found('wrok')).toEqual([])
    expect(found('instal')).toEqual(['Install'])
    // a word of four letters is taken as it is, one of five is not
    expect([found('wark'), found('linus')]).toEqual([[], ['Install', 'Backup']])
  })

  test('shows the best twenty', () => {
    const many = Array.from({ length: 30 }, (_, n) => part(`p${n}`, 'word', ''))
    expect(searchOver(many)('word')).toHaveLength(20)
  })
})

describe('an excerpt', () => {
  const text = Array.from({ length: 100 }, (_, n) => `w${n}`).join(' ')

  test('of a short text is all of it', () => {
    expect(excerptOf({ text: 'a few words', terms: ['few'] })).toBe('a few words')
    expect(excerptOf({ text: 'x'.repeat(180), terms: [] })).toBe('x'.repeat(180))
  })

  test('begins with the text where the first term stands near its beginning, or nowhere', () => {
    for (const terms of [['w0'], ['w3', 'w90'], ['absent'], []])
      expect(excerptOf({ text, terms })).toMatch(/^w0 w1 .* …$/)
  })

  test('begins and ends between words around the first term', () => {
    const excerpt = excerptOf({ text, terms: ['w90', 'w60'] })
    expect(excerpt).toMatch(/^… w\d+ .* w60 .* w\d+ …$/)
    expect(excerpt.length).toBeLessThanOrEqual(180 + 4)
    expect(excerpt.indexOf('w60')).toBeLessThanOrEqual(62)
    expect(excerptOf({ text, terms: ['w99'] })).toMatch(/^… w\d+ .* w99$/)
  })

  test('has up to sixty characters before the term, and 180 in all', () => {
    const at = (place: number) => excerptOf({ text: `${'a '.repeat(60).slice(-place)}term`, terms: ['term'] })
    expect([at(60).startsWith('…'), at(61).startsWith('…')]).toEqual([false, true])
    const long = (length: number) => excerptOf({ text: `${'x'.repeat(length - 2)} y`, terms: [] })
    expect([long(180), long(181)]).toEqual([`${'x'.repeat(178)} y`, `${'x'.repeat(179)} …`])
  })
})
