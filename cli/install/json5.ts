/**
 * JSON5, as some programs keep their configuration in, as the JSON with comments that is edited, and the edits back: what
 * stands around them keeps every byte.
 */
import type { Edit } from 'jsonc-parser'

/** A part of the text that is written otherwise: where it stands, and what stands for it. */
type Part = { at: number; length: number; words: string }

const SPACE_OR_COMMENT = /[\s\uFEFF]+|\/\/[^\n\r]*|\/\*[\s\S]*?\*\//y
const STRING = /"(?:[^"\\\n\r]|\\[\s\S])*"|'(?:[^'\\\n\r]|\\[\s\S])*'/y
const NUMBER = /[+-]?(?:0[xX][\da-fA-F]+|\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)/y
const WORD = /[\p{ID_Start}$_][\p{ID_Continue}$_\u200C\u200D]*/uy
const ESCAPE = /\\(?:x([\da-fA-F]{2})|(\r\n|[\s\S]))|"/g
const KEPT_ESCAPES = '"\\/bfnrtu'
const OTHER_ESCAPES: Readonly<Record<string, string>> = {
  v: '\\u000b',
  '0': '\\u0000',
  '\n': '',
  '\r': '',
  '\r\n': '',
}

/** The text as JSON with comments, the same where it is that already, and where a place in it stands in the original. */
export function asJson(text: string): { text: string; edits(edits: readonly Edit[]): Edit[] } {
  const parts = partsOf(text)
  let json = ''
  let end = 0
  for (const { at, length, words } of parts) {
    json += text.slice(end, at) + words
    end = at + length
  }
  const back = (place: number) => placeIn(parts, place)
  return {
    text: json + text.slice(end),
    edits: edits =>
      edits.map(({ offset, length, content }) => ({
        offset: back(offset),
        length: back(offset + length) - back(offset),
        content,
      })),
  }
}

function partsOf(text: string): Part[] {
  const parts: Part[] = []
  const match = (form: RegExp, at: number) => {
    form.lastIndex = at
    return form.exec(text)?.[0]
  }
  for (let at = 0; at < text.length; ) {
    const skipped = match(SPACE_OR_COMMENT, at)
    const known = skipped ?? match(STRING, at) ?? match(NUMBER, at) ?? match(WORD, at)
    // a string or a comment without an end: the rest is no JSON5, and is not looked through again from each of its signs
    if (known === undefined && (/["']/.test(text[at] as string) || text.startsWith('/*', at))) break
    const token = known ?? (text[at] as string)
    const words = skipped === undefined ? jsonOf(token) : token.replaceAll('\uFEFF', '')
    if (words !== token) parts.push({ at, length: token.length, words })
    at += token.length
  }
  return parts
}

/** One token as JSON writes it; what is no JSON5 either stays and is refused where it is read. */
function jsonOf(token: string): string {
  if (/^["']/.test(token)) return token.startsWith('"') && isJson(token) ? token : quoted(token.slice(1, -1))
  if (/^[+-]?[\d.]/.test(token) && !isJson(token)) {
    const number = /^-0x/i.test(token) ? -Number(token.slice(1)) : Number(token.replace(/^\+/, ''))
    return Number.isFinite(number) ? String(number) : token
  }
  const isName = /^[\p{ID_Start}$_]/u.test(token) && !/^(?:true|false|null|Infinity|NaN)$/.test(token)
  return isName ? JSON.stringify(token) : token
}

const quoted = (inner: string): string =>
  `"${inner.replace(ESCAPE, (whole, hex: string | undefined, one: string | undefined) => {
    if (hex !== undefined) return `\\u00${hex}`
    if (one === undefined) return '\\"'
    return KEPT_ESCAPES.includes(one) ? whole : (OTHER_ESCAPES[one] ?? one)
  })}"`

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Where a place of the JSON stands in the original; one inside of a part is its beginning. */
function placeIn(parts: readonly Part[], place: number): number {
  let shift = 0
  for (const { at, length, words } of parts) {
    const start = at + shift
    // what JSON has no word for stands before the place, never in what is written there
    if (place < start || (place === start && words !== '')) break
    if (place < start + words.length) return at
    shift += words.length - length
  }
  return place - shift
}
