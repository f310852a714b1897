/** Terminals that have no more than ASCII. */
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { lineWidth } from './cells.ts'
import { plainLines } from './paint.ts'
import { asciiLine, hasAscii, isAsciiOnly } from './signs.ts'
import { everyScreen } from './testing.ts'

const MORE = /[^\n\x20-\x7e]/

describe('a terminal has no more than ASCII', () => {
  test.each([
    [{ LANG: 'C' }, true],
    [{ LC_ALL: 'POSIX', LANG: 'de_DE.UTF-8' }, true],
    [{ LANG: 'de_DE.ISO-8859-1' }, true],
    [{ LANG: 'de_DE.ISO-8859-15@euro' }, true],
    [{ TERM: 'linux', LANG: 'de_DE.UTF-8' }, true],
    [{ TERM: 'dumb' }, true],
    [{ LANG: 'de_DE.UTF-8' }, false],
    [{ LC_CTYPE: 'C.utf8', LANG: 'C' }, false],
    [{ LC_ALL: '', LANG: 'en_GB' }, false],
    [{}, false],
  ])('%j: %s', (env, is) => expect(isAsciiOnly(env)).toBe(is))
})

describe('in ASCII', () => {
  test.each([
    { columns: 40, rows: 12 },
    { columns: 80, rows: 24 },
    { columns: 200, rows: 60 },
  ])('every screen shows nothing else, as wide as ever: %o', size => {
    for (const [name, screen] of everyScreen(size)) {
      screen.model = { ...screen.model, isAscii: true }
      const { lines } = screen.frame
      const drawn = lines.map(asciiLine)
      expect([name, plainLines(drawn).filter(line => MORE.test(line))]).toEqual([name, []])
      expect([name, drawn.map(lineWidth)]).toEqual([name, lines.map(lineWidth)])
    }
  })

  test('every sign that the screens write has a form of its own', () => {
    const signs = new Set<string>()
    for (const room of ['.', '../view']) {
      const folder = new URL(`${room}/`, import.meta.url)
      const files = readdirSync(folder).filter(file => /\.tsx?$/.test(file) && !/test(ing)?\.ts$/.test(file))
      for (const file of files)
        for (const sign of readFileSync(new URL(file, folder), 'utf8').match(/[^\s -~]/gu) ?? [])
          signs.add(sign)
    }
    expect(signs.size).toBeGreaterThan(30)
    expect([...signs].filter(sign => !hasAscii(sign))).toEqual([])
  })

  test('words of others stay as wide as they are, with a question mark for each cell', () => {
    const line = [{ text: 'naïve 你好 👩‍👩‍👧 ok' }]
    expect(plainLines([asciiLine(line)])).toEqual(['na?ve ???? ?? ok'])
  })

  test('an ellipsis before blanks is three dots, also where the blanks are another part of the line', () => {
    expect(plainLines([asciiLine([{ text: 'starting …' }, { text: '     ' }, { text: 'q' }])])).toEqual([
      'starting ...   q',
    ])
    expect(plainLines([asciiLine([{ text: 'cut off … next' }])])).toEqual(['cut off ~ next'])
  })
})
