/** Untrusted text on a screen. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anyText } from '../protocol/testing/agents.ts'
import { cleanLine, cleanText } from './clean.ts'

describe('what another party wrote', () => {
  test('moves no cursor, turns no direction and hides nothing, whatever it is', () => {
    fc.assert(
      fc.property(anyText, text => {
        for (const line of cleanText(text).split('\n')) expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}]/u)
        expect(cleanLine(text)).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\n]/u)
      }),
    )
  })

  test.each([
    ['a clipboard write', '\u001b]52;c;cm0gLXJm\u0007x', ']52;c;cm0gLXJmx'],
    ['a cursor move', 'a\u001b[2J\u001b[Hb', 'a[2J[Hb'],
    ['a C1 control', 'a\u009b2Jb', 'a2Jb'],
    ['a reversal', 'invoice\u202egpj.exe', 'invoicegpj.exe'],
    ['zero width', 'b\u200bo\u200db\ufeff', 'bob'],
    ['a line of its own', 'x\r\n● queued  bob', 'x ● queued bob'],
  ])('%s is nothing but its letters', (_what, text, line) => {
    expect(cleanLine(text)).toBe(line)
  })

  test('in the colours of a terminal is read without them', () => {
    expect(cleanText('\u001b[1;31mFAIL\u001b[0m 3 of \u001b[38:5:9m4\u001b[m')).toBe('FAIL 3 of 4')
    expect(cleanLine('\u001b[32mok\u001b[39m')).toBe('ok')
  })

  test('builds no tower of marks over other rows', () => {
    expect(cleanLine(`a${'\u0301'.repeat(40)}`)).toBe(`a${'\u0301'.repeat(3)}`)
  })

  test('keeps its lines where they are wanted, and a tab is blanks', () => {
    expect(cleanText('one\r\n\ttwo\u2028three')).toBe('one\n    two\nthree')
  })

  test('ends in an ellipsis where it is longer than asked', () => {
    expect(cleanLine('abcdef', 4)).toBe('abc…')
  })

  test('of a megabyte takes no longer than a moment', () => {
    expect(cleanLine('x '.repeat(500_000)).length).toBeLessThanOrEqual(400)
    expect(cleanText('\u001b'.repeat(1_000_000))).toBe('')
  })
})
