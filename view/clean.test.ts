/** Untrusted text on a screen. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anyText } from '../protocol/testing/agents.ts'
import { cleanFileName, cleanLine, cleanText } from './clean.ts'

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

describe('the name of a file', () => {
  const long = `${'a'.repeat(300)}.pdf.exe`
  test.each([
    ['report (1).pdf', 'report (1).pdf'],
    [long, `${'a'.repeat(75)}….exe`],
    [
      'no ending '.repeat(20),
      `${'no ending '.repeat(7).slice(0, 63)}…${'no ending '.repeat(2).slice(3, -1)}`,
    ],
    ['a.pdf” (3 kB), “b.exe', 'a.pdf_ (3 kB), _b.exe'],
    ['../../etc/passwd', '.._.._etc_passwd'],
    ['C:\\x', 'C__x'],
    ['gpj.\u202eexe', 'gpj.exe'],
    ['a\nb.txt', 'a b.txt'],
    ['', 'file'],
  ])('%j is shown as %j', (name, shown) => {
    expect(cleanFileName(name)).toBe(shown)
    expect([...cleanFileName(name)].length).toBeLessThanOrEqual(80)
  })

  test('made clean twice is the same', () => {
    for (const name of [long, 'a.b', '“x”', 'é'.repeat(200)]) {
      const once = cleanFileName(name)
      expect(cleanFileName(once)).toBe(once)
    }
  })
})
