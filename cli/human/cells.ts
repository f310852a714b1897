/** Text in cells of a terminal: how wide it is, cut or wrapped to a width. Nothing that a terminal would obey comes through. */
import stringWidth from 'string-width'
import { shownLine, shownText } from '../../protocol/encoding/plain-text.ts'

const CUT = '…'

export const widthOf = (text: string): number => stringWidth(text)

/** One line of harmless text. */
export const oneLine = (text: string): string => withoutFormats(shownLine(text.trim().replace(/\s+/g, ' ')))

/** Marks that give the text around them another form, visible or not. */
export const withoutFormats = (text: string) => text.replace(/\p{Cf}/gu, '')

const characters = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** The beginning of a text that fits `width` cells. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  return width < 1 ? '' : `${headOf(text, width - 1)}${CUT}`
}

function headOf(text: string, width: number): string {
  let [head, used] = ['', 0]
  for (const { segment } of characters.segment(text)) {
    used += widthOf(segment)
    if (used > width) break
    head += segment
  }
  return head
}

/** The text followed by blanks up to `width` cells. */
export const padded = (text: string, width: number): string =>
  text + ' '.repeat(Math.max(0, width - widthOf(text)))

/** Lines of at most `width` cells, broken between words; a longer word is broken where the line ends. */
export function wrapped(text: string, width: number): string[] {
  return withoutFormats(shownText(text))
    .replaceAll('\t', ' ')
    .split('\n')
    .flatMap(line => wrappedLine(line, Math.max(1, width)))
}

function wrappedLine(line: string, width: number): string[] {
  const lines = ['']
  for (const word of line.split(' ').flatMap(word => pieces(word, width))) {
    const last = lines.at(-1) as string
    if (last === '') lines[lines.length - 1] = word
    else if (widthOf(last) + 1 + widthOf(word) <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}

function pieces(word: string, width: number): string[] {
  const head = headOf(word, width)
  return head.length === word.length || head === ''
    ? [word]
    : [head, ...pieces(word.slice(head.length), width)]
}
