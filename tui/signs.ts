/**
 * Signs of ours in ASCII, for terminals that have no more: each in as many cells as it took, so that nothing else moves.
 * Words of others are shown as far as the terminal can.
 */
import { charactersOf, type Line, widthOf } from './cells.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Every sign that view and screens write, and what people type most beside letters. */
const ASCII: Readonly<Record<string, string>> = {
  // frames
  '─': '-',
  '│': '|',
  '┃': '|',
  '▌': '|',
  '▎': '|',
  '┆': ':',
  '┴': '+',
  '╳': 'X',
  // how something stands
  '●': '*',
  '○': 'o',
  '◐': '%',
  '•': '*',
  '✓': 'v',
  '✗': 'x',
  '×': 'x',
  '★': '*',
  '☑': 'x',
  '☐': 'o',
  '█': '#',
  '░': '.',
  // keys and ways
  '↑': '^',
  '↓': 'v',
  '←': '<',
  '→': '>',
  '⏎': '~',
  '›': '>',
  '‹': '<',
  // words
  '…': '~',
  '·': '-',
  '–': '-',
  '—': '-',
  '“': '"',
  '”': '"',
  '„': '"',
  '‘': "'",
  '’': "'",
  '\u00a0': ' ',
}

/** Whether there is a sign for it. */
export const hasAscii = (sign: string): boolean => sign in ASCII

/**
 * Whether a terminal has more than ASCII: not the console of Linux, a dumb one, or one whose locale says so. The first
 * variable that is set counts; a locale without a character set, and none at all, are taken for UTF-8, as tcell does.
 */
export function isAsciiOnly({ TERM: term, LC_ALL: all, LC_CTYPE: type, LANG: lang }: Environment): boolean {
  if (term === 'linux' || term === 'dumb') return true
  const locale = all || type || lang || ''
  if (locale === 'C' || locale === 'POSIX') return true
  const set = /\.([^@]+)/.exec(locale)?.[1]
  return set !== undefined && !/^utf-?8$/i.test(set)
}

const PLAIN = /^[\x20-\x7e]*$/
const BLANKS = '  '

/** A line in ASCII, as wide as it was. An ellipsis before two blanks is three dots, as people write it. */
export function asciiLine(line: Line): Line {
  let taken = 0
  return line.map((segment, i) => {
    const given = segment.text.slice(taken)
    const isBeforeBlanks = given.endsWith('…') && line[i + 1]?.text.startsWith(BLANKS) === true
    taken = isBeforeBlanks ? BLANKS.length : 0
    const text = (isBeforeBlanks ? `${given}${BLANKS}` : given).replaceAll(`…${BLANKS}`, '...')
    return { ...segment, text: asciiText(text) }
  })
}

const asciiText = (text: string): string => (PLAIN.test(text) ? text : charactersOf(text).map(ascii).join(''))

function ascii(character: string): string {
  if (PLAIN.test(character)) return character
  return ASCII[character] ?? '?'.repeat(widthOf(character))
}
