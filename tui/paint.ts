/**
 * Lines with the escapes of a terminal. Colours are the terminal's own sixteen: whoever uses it has chosen them, light
 * or dark, so that they can be read there. Without colours the meaning stands in marks, words, bold and inverse.
 */
import type { Tone } from '../view/sentences.ts'
import { type Line, type Segment, widthOf } from './cells.ts'

const COLOURS: Record<Tone, string | undefined> = {
  plain: undefined,
  quiet: '2',
  good: '32',
  wait: '36',
  warn: '33',
  bad: '31',
}

/** Whether the terminal is asked for colours: not with NO_COLOR or on a dumb one. */
export function hasColours(env: Readonly<Record<string, string | undefined>>): boolean {
  return !env['NO_COLOR'] && env['TERM'] !== 'dumb'
}

export function painted(lines: readonly Line[], colours: boolean): string {
  return lines.map(line => paintedLine(line, colours)).join('\n')
}

/** Blanks at the end of a line are there already, unless they have a look of their own. */
function paintedLine(line: Line, colours: boolean): string {
  const last = line.findLastIndex(
    ({ text, inverse, underline }) => inverse || underline || text.trim() !== '',
  )
  return line
    .slice(0, last + 1)
    .map((segment, i) => {
      const isBlankBehind = i === last && !segment.inverse && !segment.underline
      return paintedSegment(isBlankBehind ? { ...segment, text: segment.text.trimEnd() } : segment, colours)
    })
    .join('')
}

function paintedSegment(segment: Segment, colours: boolean): string {
  const codes = codesOf(segment, colours)
  const text = steady(segment.text)
  return codes.length === 0 ? text : `\u001b[${codes.join(';')}m${text}\u001b[0m`
}

const TONED = /(\p{Emoji_Modifier_Base})\p{Emoji_Modifier}+/gu

/** A tone of skin takes no cells on some terminals and two on others: without it the rest of a line stands in its place. */
export const steady = (text: string): string =>
  text.replace(TONED, (toned, base: string) => base + ' '.repeat(Math.max(0, widthOf(toned) - widthOf(base))))

function codesOf({ tone = 'plain', bold, dim, inverse, underline }: Segment, colours: boolean): string[] {
  const codes: string[] = []
  if (bold || (!colours && (tone === 'bad' || tone === 'warn'))) codes.push('1')
  if ((dim || tone === 'quiet') && !inverse) codes.push('2')
  if (underline) codes.push('4')
  if (inverse) codes.push('7')
  const colour = COLOURS[tone]
  // an inverse line is one block, in which colours would be stains
  if (colours && colour !== undefined && tone !== 'quiet' && !inverse) codes.push(colour)
  return codes
}

/** The letters alone. */
export const plainLines = (lines: readonly Line[]): string[] =>
  lines.map(line =>
    line
      .map(({ text }) => text)
      .join('')
      .trimEnd(),
  )
