import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anyText } from '../testing/agents.ts'
import { plainLine, plainText } from './plain-text.ts'

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
