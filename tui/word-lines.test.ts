/** Markdown of others in a terminal. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { lineWidth } from './cells.ts'
import { plainLines } from './paint.ts'
import { wordLines } from './word-lines.ts'

const shown = (text: string, width = 40) => plainLines(wordLines(text, width))

describe('Markdown in a terminal', () => {
  test('has fences, lists and emphasis', () => {
    const text =
      '# Plan\n\nsome **bold**, `code`\n\n```\nif  a:\n    b\n```\n\n- one\n- two words\n  1. in it'
    expect(shown(text, 14)).toEqual([
      'Plan',
      '',
      'some bold,',
      '`code`',
      '',
      '┃ if  a:',
      '┃     b',
      '',
      '• one',
      '• two words',
      '',
      '  1. in it',
    ])
    const segments = wordLines('a **b** *c*', 20).flat()
    expect(segments.find(({ text }) => text === 'b')).toMatchObject({ bold: true })
    expect(segments.find(({ text }) => text === 'c')).toMatchObject({ underline: true })
  })

  test('shows where a link leads, and a picture as one', () => {
    expect(shown('[bank](https://evil.example/a) ![cat](https://x.example/p.png)', 90)).toEqual([
      'bank (https://evil.example/a) picture: cat (https://x.example/p.png)',
    ])
    expect(shown('https://plain.example/x')).toEqual(['https://plain.example/x'])
  })

  test('has tables in columns, and as names and values where they are too wide', () => {
    const table = '| part | hours |\n|---|---|\n| the parser | 3 |'
    expect(shown(table)).toEqual(['part        hours', '──────────  ─────', 'the parser  3'])
    expect(shown(table, 14)).toEqual(['part: the', 'parser', 'hours: 3'])
  })

  test('is never wider than asked, and loses no word, whatever it is', () => {
    const piece = fc.constantFrom(
      'word',
      '你好',
      ' ',
      '\n',
      '\n\n',
      '**',
      '`',
      '```\n',
      '- ',
      '> ',
      '| a | b |\n|-|-|\n',
      '    ',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), fc.integer({ min: 12, max: 80 }), (pieces, width) => {
        const text = pieces.join('')
        const lines = wordLines(text, width)
        expect(Math.max(0, ...lines.map(lineWidth))).toBeLessThanOrEqual(width)
        const letters = plainLines(lines)
          .join('')
          .replace(/[^a-z你好]/g, '')
        expect(letters.length).toBeGreaterThanOrEqual(text.replace(/[^word你好]/g, '').length)
      }),
    )
  })
})
