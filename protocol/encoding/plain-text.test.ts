import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anyText } from '../testing/agents.ts'
import {
  isPlainLine,
  isPlainText,
  isVisibleLine,
  plainLine,
  plainText,
  shownJson,
  shownLine,
  shownText,
} from './plain-text.ts'

describe('plain text', () => {
  test.each([
    ['a clipboard write by OSC 52', '\u001b]52;c;aGFjaw==\u0007text', ']52;c;aGFjaw==text'],
    ['a colour', '\u001b[31mred', '[31mred'],
    ['C1 controls', '\u009b31mred', '31mred'],
    ['a right-to-left override', 'abc\u202egpj.exe', 'abcgpj.exe'],
    ['isolates', '\u2066a\u2069', 'a'],
    ['zero-width characters', 'pay\u200bpal\u2060\ufeff', 'paypal'],
    ['tag characters', 'a\u{e0041}\u{e0042}b', 'ab'],
    ['NUL, backspace and DEL', 'a\u0000\u0008\u007fb', 'ab'],
    ['a lone surrogate', 'a\ud800b', 'a\ufffdb'],
  ])('loses %s', (_, hostile, plain) => {
    expect(plainText(hostile)).toBe(plain)
  })

  test('keeps tabs, newlines, umlauts, CJK and emoji', () => {
    const kept = 'ä\tö\n你好 👍🏽 𝒳'
    expect(plainText(kept)).toBe(kept)
  })

  test('turns every kind of line break into a newline', () => {
    expect(plainText('a\r\nb\rc\u2028d\u2029e\u0085f')).toBe('a\nb\nc\nd\ne\nf')
  })

  test('is the same when done twice', () => {
    fc.assert(fc.property(anyText, text => plainText(plainText(text)) === plainText(text)))
  })
})

describe('a plain line', () => {
  test('holds no line break and not more than the characters asked for, never half of one', () => {
    expect(plainLine('a\nb\t c', 10)).toBe('a b c')
    expect(plainLine('👍'.repeat(10), 4)).toBe('👍👍👍…')
    fc.assert(
      fc.property(anyText, fc.integer({ min: 1, max: 40 }), (text, max) => {
        const line = plainLine(text, max)
        return [...line].length <= max && !/[\n\r\t]/.test(line) && line.isWellFormed()
      }),
    )
  })
})

describe('what others are shown', () => {
  const hidden = [
    '\u202e',
    '\u2066',
    '\u200b',
    '\u001b',
    '\u0007',
    '\u0085',
    '\u2028',
    '\u{e0041}',
    '\ufeff',
    '\u00ad',
    ...['\u3164', '\u115f', '\u1160', '\uffa0', '\u2800', '\u034f', '\u17b4', '\u17b5', '\u180b', '\u180f'],
    ...['\ufe00', '\ufe0f', '\u{e0100}', '\u{e01ef}', '\u{1d173}', '\u{1d17a}', '\u{1bca0}', '\ufff0'],
    ...['\ufffe', '\uffff', '\ufdd0', '\ufdef', '\u{1fffe}', '\u{10ffff}'],
  ]

  test.each(hidden)('is refused with %j in it, and shown with its escape', character => {
    const text = `a${character}b`
    expect([isPlainText(text), isPlainLine(text)]).toEqual([false, false])
    const spelt = `a\\u{${character.codePointAt(0)?.toString(16)}}b`
    expect([shownText(text), shownLine(text)]).toEqual([spelt, spelt])
  })

  test.each(['a\tb', 'a\nb', 'a\r\nb'])('may have %j between its lines, in a line never', text => {
    expect([isPlainText(text), isPlainLine(text)]).toEqual([true, false])
    expect(shownText(text)).toBe(text.replace('\r', ''))
    expect(shownLine(text)).toMatch(/^a\\u\{[9a]\}b$/)
  })

  test.each(['ä ö', '你好 👍🏽', '❤\ufe0f 1\ufe0f\u20e3', '', ' '])('takes %j as it is', text => {
    expect([isPlainLine(text), shownLine(text), shownText(text)]).toEqual([true, text, text])
  })

  test('may have the selector that makes a sign an emoji once, after such a sign', () => {
    const texts = ['❤\ufe0f\ufe0f', '❤\u200b\ufe0f', '1\ufe0f', '❤\ufe0e', '\ufe0f❤']
    expect(texts.map(isPlainText)).toEqual(texts.map(() => false))
    expect(texts.map(plainText)).toEqual(['❤\ufe0f', '❤', '1', '❤', '❤'])
  })

  test.each([' ', '   ', '\u00a0', '\u3000\u2003', '\t', '\u200b', '\u3164'])(
    'is no name where it is %j',
    text => {
      expect(isVisibleLine(text)).toBe(false)
    },
  )

  test.each(['', 'a', ' a ', '·'])('is a name, or none, where it is %j', text => {
    expect(isVisibleLine(text)).toBe(true)
  })

  test('is no lone surrogate and no lone carriage return', () => {
    expect([isPlainText('a\ud800'), isPlainText('a\rb'), isPlainLine('a\rb')]).toEqual([false, false, false])
  })

  test('is plain once it is escaped, whatever it was', () => {
    fc.assert(fc.property(anyText, text => isPlainText(shownText(text)) && isPlainLine(shownLine(text))))
  })

  test('reads back from JSON as the same value, without a character that a terminal does not show', () => {
    fc.assert(
      fc.property(anyText, text => {
        const shown = shownJson(JSON.stringify({ text }))
        const same = (JSON.parse(shown) as { text: string }).text === text
        return same && isPlainLine(shown)
      }),
    )
  })
})
