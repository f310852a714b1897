/** Words being written: a text, where the cursor stands in it, and what came before the last change. Pure. */
import { cleanText } from '../view/clean.ts'
import { charactersOf, headOf, widthOf } from './cells.ts'

/** `at` counts UTF-16 units and always stands between two characters. */
export type Buffer = { readonly text: string; readonly at: number; readonly before?: Buffer }

export const emptyBuffer: Buffer = { text: '', at: 0 }
export const bufferOf = (text: string): Buffer => ({ text, at: text.length })

/** More than any terminal shows on either side of the cursor: only so much of a long text is measured for each key. */
const AROUND = 4096
/** A text longer than a message may be is not typed. */
const TEXT_MAX = 1_500_000

function changed(buffer: Buffer, text: string, at: number): Buffer {
  const { before: _older, ...before } = buffer
  return { text, at, before }
}

/** Words that were typed or pasted, exactly; only the return with which a terminal ends a line becomes a newline. */
export function insert(buffer: Buffer, given: string): Buffer {
  const words = given.replace(/\r\n?/g, '\n')
  if (words === '' || buffer.text.length + words.length > TEXT_MAX) return buffer
  const text = buffer.text.slice(0, buffer.at) + words + buffer.text.slice(buffer.at)
  return changed(buffer, text, buffer.at + words.length)
}

/** Back to what stood before the last change, and forth again. */
export function undo(buffer: Buffer): Buffer {
  return buffer.before === undefined ? buffer : changed(buffer, buffer.before.text, buffer.before.at)
}

const before = ({ text, at }: Buffer): number => at - (charactersOf(lineTo(text, at)).at(-1)?.length ?? 0)
const after = ({ text, at }: Buffer): number => at + (charactersOf(text.slice(at, at + 64))[0]?.length ?? 0)
/** The end of a text up to a place, as much as one character can be long. */
const lineTo = (text: string, at: number): string => text.slice(Math.max(0, at - 64), at)
const lineStart = ({ text, at }: Buffer): number => text.lastIndexOf('\n', at - 1) + 1
const lineEnd = ({ text, at }: Buffer): number =>
  text.indexOf('\n', at) < 0 ? text.length : text.indexOf('\n', at)
const wordStart = ({ text, at }: Buffer): number =>
  at - (/\S*\s*$/u.exec(text.slice(Math.max(0, at - AROUND), at))?.[0].length ?? 0)
const wordEnd = ({ text, at }: Buffer): number =>
  at + (/^\s*\S*/u.exec(text.slice(at, at + AROUND))?.[0].length ?? 0)

const without = (buffer: Buffer, from: number, to: number): Buffer =>
  from === to ? buffer : changed(buffer, buffer.text.slice(0, from) + buffer.text.slice(to), from)

type Step = (buffer: Buffer) => Buffer
const to =
  (place: (buffer: Buffer) => number): Step =>
  buffer => ({ ...buffer, at: place(buffer) })

/** What the keys of an editor do. */
export const steps: Readonly<Record<string, Step>> = {
  left: to(before),
  right: to(after),
  home: to(lineStart),
  end: to(lineEnd),
  'ctrl-a': to(lineStart),
  'alt-b': to(wordStart),
  'alt-f': to(wordEnd),
  'ctrl-left': to(wordStart),
  'ctrl-right': to(wordEnd),
  backspace: buffer => without(buffer, before(buffer), buffer.at),
  delete: buffer => without(buffer, buffer.at, after(buffer)),
  'ctrl-w': buffer => without(buffer, wordStart(buffer), buffer.at),
  'alt-backspace': buffer => without(buffer, wordStart(buffer), buffer.at),
  'ctrl-u': buffer => without(buffer, lineStart(buffer), buffer.at),
  'ctrl-k': buffer => without(buffer, buffer.at, lineEnd(buffer)),
  'ctrl-_': undo,
}

export type Shown = { readonly lines: readonly string[]; readonly row: number; readonly column: number }

/**
 * The lines of at most `width` cells in which a text stands, without what moves or hides, and the cell of the cursor; of a
 * long text those around the cursor.
 */
export function shown(buffer: Buffer, width: number): Shown {
  const { lines, row, column } = placed(buffer, width)
  return { lines, row, column }
}

type Placed = Shown & { readonly spots: readonly Spot[]; readonly from: number; readonly to: number }

/** `from` and `to`: which part of the text the lines are of. */
function placed({ text, at }: Buffer, width: number): Placed {
  const from = startBefore(text, at)
  const to = Math.min(text.length, at + AROUND)
  const { lines, spots } = spotsOf(text.slice(from, to), width)
  // what joins may have closed around the cursor
  const { row, column } = spots.find(spot => spot.place >= at - from) ?? { row: 0, column: 0 }
  return { lines, row, column, spots, from, to }
}

/** Where the lines begin that are measured: at the start of a line or, in a long one, at a place that moves seldom. */
function startBefore(text: string, at: number): number {
  if (at <= AROUND) return 0
  const least = at - AROUND - (at % AROUND)
  const start = text.indexOf('\n', least) + 1
  if (start > 0 && start <= at - AROUND / 2) return start
  return Math.max(0, least) + (isLowSurrogate(text, least) ? 1 : 0)
}

const isLowSurrogate = (text: string, at: number): boolean => (text.charCodeAt(at) & 0xfc00) === 0xdc00

/** The cursor a line up or down, as the lines are shown. */
export function moveLine(buffer: Buffer, width: number, by: -1 | 1): Buffer {
  const { lines, row, column, spots, from, to } = placed(buffer, width)
  const target = row + by
  if (target < 0) return { ...buffer, at: from }
  if (target >= lines.length) return { ...buffer, at: to }
  const near = spots
    .filter(spot => spot.row === target)
    .reduce((best, spot) => (Math.abs(spot.column - column) < Math.abs(best.column - column) ? spot : best))
  return { ...buffer, at: from + near.place }
}

type Spot = { place: number; row: number; column: number }

/** Where each character stands, and the end of the text. */
function spotsOf(text: string, width: number): { lines: string[]; spots: Spot[] } {
  const room = Math.max(2, width)
  const lines = ['']
  const spots: Spot[] = []
  let [used, place] = [0, 0]
  const next = () => {
    lines.push('')
    used = 0
  }
  for (const character of charactersOf(text)) {
    const drawn = drawnOf(character, room)
    const isBreak = drawn === '\n'
    const wide = isBreak ? 0 : widthOf(drawn)
    if (used + wide > room) next()
    spots.push({ place, row: lines.length - 1, column: used })
    if (isBreak) next()
    else if (wide > 0) lines[lines.length - 1] += drawn
    used += wide
    place += character.length
  }
  if (used >= room) next()
  spots.push({ place, row: lines.length - 1, column: used })
  return { lines, spots }
}

/** A character as it may be drawn; one that moves or hides takes no cell. */
function drawnOf(character: string, room: number): string {
  const clean = cleanText(character)
  return clean === '\n' ? clean : headOf(clean, room)
}
