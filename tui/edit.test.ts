/** Words being written. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anyText } from '../protocol/testing/agents.ts'
import { widthOf } from './cells.ts'
import { type Buffer, bufferOf, emptyBuffer, insert, moveLine, shown, steps } from './edit.ts'

/** A text with `|` where the cursor stands. */
const buffer = (text: string): Buffer => ({ text: text.replace('|', ''), at: text.indexOf('|') })
const written = ({ text, at }: Buffer): string => `${text.slice(0, at)}|${text.slice(at)}`

describe('a key', () => {
  test.each([
    ['left', 'ab|c', 'a|bc'],
    ['right', 'a|bc', 'ab|c'],
    ['left', '你好|', '你|好'],
    ['backspace', 'e\u0301|', '|'],
    ['backspace', '👍🏽|', '|'],
    ['delete', '|你好', '|好'],
    ['home', 'one\ntw|o', 'one\n|two'],
    ['end', 'o|ne\ntwo', 'one|\ntwo'],
    ['ctrl-w', 'say this |now', 'say |now'],
    ['ctrl-u', 'one\ntwo |three', 'one\n|three'],
    ['ctrl-k', 'one| two\nthree', 'one|\nthree'],
    ['alt-b', 'one two|', 'one |two'],
    ['alt-f', '|one two', 'one| two'],
  ])('%s makes %j %j', (key, before, after) => {
    expect(written(steps[key]!(buffer(before)))).toBe(after)
  })

  test('that undoes brings back what stood there, and once more what came of it', () => {
    const gone = steps['ctrl-u']!(buffer('a whole line|'))
    const back = steps['ctrl-_']!(gone)
    expect(written(back)).toBe('a whole line|')
    expect(written(steps['ctrl-_']!(back))).toBe('|')
  })

  test('at the ends changes nothing', () => {
    for (const key of ['left', 'backspace', 'ctrl-w', 'home'])
      expect(written(steps[key]!(buffer('|a')))).toBe('|a')
    for (const key of ['right', 'delete', 'ctrl-k', 'end'])
      expect(written(steps[key]!(buffer('a|')))).toBe('a|')
  })
})

describe('what is written', () => {
  const family = '\u{1f469}\u200d\u{1f469}\u200d\u{1f467}'
  const typed = (text: string): Buffer => [...text].reduce(insert, emptyBuffer)

  test.each([
    ['an emoji of several', family],
    ['a heart with its form', '\u2764\ufe0f'],
    ['Persian with its joint', '\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645'],
    ['marks', `a${'\u0301'.repeat(5)}`],
    ['a direction', 'a\u200f\u202eb'],
    ['a tab and blanks', '\tx  '],
  ])('stays exactly as it was typed or pasted: %s', (_what, text) => {
    expect(typed(text).text).toBe(text)
    expect(insert(emptyBuffer, text).text).toBe(text)
  })

  test('stays whole where a control was pasted; a return of the terminal is a new line', () => {
    expect(insert(emptyBuffer, 'a\u001b[2J\u202eb\r\nc\rd').text).toBe('a\u001b[2J\u202eb\nc\nd')
  })

  test('is drawn without what moves or hides, and one key takes a character as it was typed', () => {
    expect(shown(bufferOf(`${family}\u001b[2J\u202ex`), 40).lines).toEqual([
      '\u{1f469}\u{1f469}\u{1f467}[2Jx',
    ])
    expect(shown(bufferOf(`a\u202e${'\u0301'.repeat(40)}`), 40).lines).toEqual(['a'])
    expect(steps['backspace']!(bufferOf(`a${family}`)).text).toBe('a')
  })

  test('in the middle of what joins keeps the cursor where it was written', () => {
    expect(
      shown(insert({ text: `ab\u{1f467}`, at: 2 }, '\u{1f469}\u200d'), 40).column,
    ).toBeGreaterThanOrEqual(2)
  })
})

describe('the lines', () => {
  test('are broken by cells, and the cursor stands behind what was written', () => {
    expect(shown(bufferOf('你好世界'), 4)).toEqual({ lines: ['你好', '世界', ''], row: 2, column: 0 })
    expect(shown(buffer('ab|c\nd'), 10)).toEqual({ lines: ['abc', 'd'], row: 0, column: 2 })
  })

  test('are never wider than asked, and the cursor is in them, whatever is written', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 2, max: 40 }), fc.nat(), (text, width, at) => {
        let given = insert(emptyBuffer, text)
        for (let n = 0; n < at % 5; n += 1) given = steps['left']!(given)
        const { lines, row, column } = shown(given, width)
        for (const line of lines) {
          expect(widthOf(line)).toBeLessThanOrEqual(width)
          expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}]/u)
        }
        expect(lines[row]).toBeDefined()
        expect(column).toBeLessThanOrEqual(width)
      }),
    )
  })

  test.each(['words and more ', 'x', 'a line\n', '\u{1f469}\u200d\u{1f467} '])(
    'of a megabyte of %j are those around the cursor',
    line => {
      const text = line.repeat(Math.ceil(1_000_000 / line.length))
      for (const place of [9_001, 500_000, text.length - 9_001]) {
        const given = { text, at: place + Number(isLow(text, place)) }
        const { lines, row } = shown(given, 60)
        // a screen of lines stands before the cursor, and one behind it
        expect([row, lines.length - row].map(count => count > 20)).toEqual([true, true])
        expect(lines.length).toBeLessThan(10_000)
        const steps = [given.at - moveLine(given, 60, -1).at, moveLine(given, 60, 1).at - given.at]
        expect(steps.map(step => step > 0 && step <= 200)).toEqual([true, true])
      }
      expect(shown({ text, at: 0 }, 60).row).toBe(0)
      expect(moveLine({ text, at: 0 }, 60, -1).at).toBe(0)
      expect(moveLine(bufferOf(text), 60, 1).at).toBe(text.length)
    },
  )

  test('of a megabyte are found at once for each key', () => {
    const long = bufferOf('word '.repeat(200_000))
    const start = performance.now()
    for (let n = 0; n < 5; n += 1) {
      shown(insert(long, 'x'), 60)
      steps['ctrl-w']!(long)
    }
    // measured whole, each of them took seconds
    expect(performance.now() - start).toBeLessThan(5_000)
  })

  test('are gone up and down by the cell', () => {
    expect(written(moveLine(buffer('abcd\nef|'), 20, -1))).toBe('ab|cd\nef')
    expect(written(moveLine(buffer('ab|cd\ne'), 20, 1))).toBe('abcd\ne|')
    expect(written(moveLine(buffer('a|b'), 20, -1))).toBe('|ab')
  })
})

const isLow = (text: string, at: number) => (text.charCodeAt(at) & 0xfc00) === 0xdc00
