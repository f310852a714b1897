/** Text in the cells of a terminal: how wide it is, cut, filled up and broken into lines. Expects clean text. */
import stringWidth from 'string-width'
import type { Tone } from '../view/sentences.ts'

export type Style = {
  readonly tone?: Tone
  readonly bold?: boolean
  readonly dim?: boolean
  readonly inverse?: boolean
  readonly underline?: boolean
}
export type Segment = Style & {
  readonly text: string
  /** The key for which a click on it stands. */
  readonly press?: string
  /** The row of a list to which it belongs. */
  readonly row?: string
}
export type Line = readonly Segment[]

const CUT = '…'
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** Cells that a text takes. */
export function widthOf(text: string): number {
  if (PRINTABLE_ASCII.test(text)) return text.length
  const known = widths.get(text)
  if (known !== undefined) return known
  const width = stringWidth(text)
  if (text.length > REMEMBERED_LENGTH_MAX) return width
  if (widths.size >= REMEMBERED_MAX) widths.clear()
  widths.set(text, width)
  return width
}

/** Most of a frame is what the frame before it was. */
const widths = new Map<string, number>()
const REMEMBERED_MAX = 4_000
const REMEMBERED_LENGTH_MAX = 300

/** The beginning of a text that fits, with an ellipsis where something is left out. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  return width < 1 ? '' : headOf(text, width - 1) + CUT
}

/** As many whole characters as fit. */
export function headOf(text: string, width: number): string {
  if (PRINTABLE_ASCII.test(text)) return text.slice(0, Math.max(0, width))
  let [head, used] = ['', 0]
  for (const { segment } of graphemes.segment(text)) {
    used += widthOf(segment)
    if (used > width) break
    head += segment
  }
  return head
}

/** Exactly `width` cells: cut or filled up with blanks. */
export function cell(text: string, width: number): string {
  const shown = cut(text, width)
  return shown + ' '.repeat(Math.max(0, width - widthOf(shown)))
}

/** All of a line as part of a row, blanks too. */
export const ofRow = (line: Line, row: string): Line => line.map(segment => ({ ...segment, row }))

/** What stands in a cell of a line. */
export function segmentAt(line: Line, x: number): Segment | undefined {
  let end = 0
  return line.find(({ text }) => {
    end += widthOf(text)
    return x < end
  })
}

export const lineWidth = (line: Line): number => line.reduce((sum, { text }) => sum + widthOf(text), 0)

/** A line of exactly `width` cells; what does not fit is cut from its end, and blanks take the style of the line. */
export function fitted(line: Line, width: number, style: Style = {}): Line {
  const kept: Segment[] = []
  let left = width
  for (const segment of line) {
    if (segment.text === '') continue
    const text = cut(segment.text, left)
    if (text === '') break
    kept.push({ ...style, ...segment, text })
    left -= widthOf(text)
    if (text !== segment.text) break
  }
  return left > 0 ? [...kept, { ...style, text: ' '.repeat(left) }] : kept
}

/** Two ends of one line; the right one gives way where both do not fit. */
export function spread(left: Line, right: Line, width: number): Line {
  const room = width - lineWidth(left)
  if (lineWidth(right) >= room) return fitted(left, width)
  return [...left, { text: ' '.repeat(room - lineWidth(right)) }, ...right]
}

/** Lines of at most `width` cells, broken between words; a longer word is broken where the line ends. */
export function wrapped(text: string, width: number): string[] {
  const room = Math.max(1, width)
  return text.split('\n').flatMap(line => wrappedLine(line, room))
}

function wrappedLine(line: string, width: number): string[] {
  if (widthOf(line) <= width) return [line]
  const lines = ['']
  let used = 0
  for (const word of line.split(' ')) {
    const wide = widthOf(word)
    if (used > 0 && used + 1 + wide <= width) {
      lines[lines.length - 1] += ` ${word}`
      used += 1 + wide
      continue
    }
    if (used > 0) lines.push('')
    const parts = pieces(word, width)
    lines[lines.length - 1] = parts[0] as string
    for (const part of parts.slice(1)) lines.push(part)
    used = widthOf(lines.at(-1) as string)
  }
  return lines
}

/** A word in parts that fit; one cell may be too narrow for a wide character, which then stands alone. */
function pieces(word: string, width: number): string[] {
  if (widthOf(word) <= width) return [word]
  const parts: string[] = []
  let [part, used] = ['', 0]
  for (const { segment } of graphemes.segment(word)) {
    const wide = widthOf(segment)
    if (used + wide > width && part !== '') {
      parts.push(part)
      part = ''
      used = 0
    }
    part += segment
    used += wide
  }
  return [...parts, part]
}

/** Characters as a reader counts them. */
export const charactersOf = (text: string): string[] =>
  Array.from(graphemes.segment(text), ({ segment }) => segment)
