/** Names of files that strangers chose, as they are shown, asked about and saved. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anyText } from '../testing/agents.ts'
import { distinctFileNames, fileName } from './file-names.ts'

describe('a name that a stranger chose', () => {
  test.each([
    ['a plain one', 'Report 2 (draft).pdf', 'Report 2 (draft).pdf'],
    ['a path upwards', '../../.ssh/authorized_keys', 'authorized_keys'],
    ['a Windows path', 'C:\\Windows\\win.ini', 'win.ini'],
    ['only dots', '..', 'attachment'],
    ['a hidden file', '.bashrc', 'bashrc'],
    ['nothing', '', 'attachment'],
    ['only a separator', 'a/', 'attachment'],
    ['NUL and control characters', 'a\u0000b\u0007\u001b[31m.txt', 'ab[31m.txt'],
    ['a text direction that turns', 'photo\u202egnp.exe', 'photognp.exe'],
    ['a line of its own', 'a\nb\u2028c', 'a b c'],
    ['blanks that push the extension away', `a.pdf${'\u00a0 '.repeat(60)}.exe`, 'a.pdf .exe'],
    ['characters that nobody sees', 'a\u3164\u2800\ufe0fb\u{e0100}\uffff.txt', 'ab.txt'],
    ['nothing to see', '\u3164\uffa0', 'attachment'],
    ['a tower of marks', `a${'\u0337'.repeat(40)}.txt`, `a${'\u0337'.repeat(3)}.txt`],
    ['a stream of another file', 'a.txt:evil.exe', 'a.txt_evil.exe'],
    ['a wildcard', '*.?', '_._'],
    ['an option', '-rf', '_rf'],
    ['a device', 'CON', '_CON'],
    ['a device with an extension', 'nul.txt', '_nul.txt'],
    ['a numbered device', 'com1.tar.gz', '_com1.tar.gz'],
    ['what only begins like a device', 'console.log', 'console.log'],
    ['dots and spaces at its end', 'a.txt. . ', 'a.txt'],
    ['half a character', 'a\ud800b', 'a\ufffdb'],
    ['the end of a quoted name', 'a.pdf” (3 kB), “b.exe', 'a.pdf_ (3 kB), _b.exe'],
  ])('with %s stays one name', (_, given, expected) => {
    expect(fileName(given)).toBe(expected)
  })

  test.each([
    [`${'a'.repeat(300)}.pdf.exe`, `${'a'.repeat(75)}….exe`],
    [`${'𝄞'.repeat(300)}.txt`, `${'𝄞'.repeat(48)}….txt`],
    [`a.${'b'.repeat(300)}`, `a.${'b'.repeat(61)}…${'b'.repeat(16)}`],
    [
      'no ending '.repeat(20),
      `${'no ending '.repeat(7).slice(0, 63)}…${'no ending '.repeat(2).slice(3, -1)}`,
    ],
    [`${'x'.repeat(100_000)}.sh`, `${'x'.repeat(76)}….sh`],
  ])('that is too long keeps its extension and whole characters', (given, expected) => {
    expect(fileName(given)).toBe(expected)
  })

  test('is the same when it is made harmless twice, and never longer than a list or a disk takes', () => {
    fc.assert(
      fc.property(fc.tuple(anyText, fc.nat({ max: 40 }), anyText), ([text, times, end]) => {
        const name = fileName(text.repeat(times) + end)
        expect(fileName(name)).toBe(name)
        expect([...name].length).toBeLessThanOrEqual(80)
        expect(new TextEncoder().encode(name).length).toBeLessThanOrEqual(200)
        expect(name).toMatch(/^[^. ](?:.*[^. ])?$/u)
        expect(name).not.toMatch(/["“”\p{Cc}\p{Cf}/\\]/u)
      }),
    )
  })
})

test('files of one folder have names of their own, however a disk compares', () => {
  expect(distinctFileNames(['a.txt', 'b/a.txt', 'A.TXT', 'a (2).txt', 'README', 'readme', '..'])).toEqual([
    'a.txt',
    'a (2).txt',
    'A (3).TXT',
    'a (2) (2).txt',
    'README',
    'readme (2)',
    'attachment',
  ])
})
