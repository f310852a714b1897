/**
 * Strict JSON (objects: encoding): a scan of our own stands before `JSON.parse`, because that one hides duplicate
 * members, takes lone surrogates and turns 1e999 into infinity. Also the canonical form of RFC 8785.
 */
import { fromUtf8, Malformed } from './bytes.ts'

/** What {@link parseJson} gives; no number in it is −0 or infinite (objects §2). */
export type JsonValue = null | boolean | number | string | JsonValue[] | { [member: string]: JsonValue }

/** Containers in one another at most, where a caller names no other bound, objects §2. */
export const JSON_DEPTH_MAX = 32
/** Positions named in a refusal are offsets in UTF-16 units of the text. */
type Scan = { text: string; offset: number; depthMax: number; left: number }

/** How deep a text may be nested, and how many values and member names it may hold. */
export type JsonBounds = { depthMax?: number; valuesMax?: number }

/** A text may be nothing else: megabytes of it must not hold the event loop. */
const SPACE = /[ \n\r\t]*/y
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
/** A part of a string, bounded because each escape takes a little of the engine's stack. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it stops at
const PART = /(?:[^"\\\x00-\x1f]+|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})){0,4096}/y
/** An escape that may be a surrogate, or a backslash before letters that look like one. */
const SURROGATE = /\\u[dD]/

/** The value of one JSON text; everything `JSON.parse` would gloss over is refused with the place of the fault. */
export function parseJson(source: string | Uint8Array, bounds: JsonBounds = {}): JsonValue {
  const text = typeof source === 'string' ? source : fromUtf8(source)
  if (!text.isWellFormed()) throw new Malformed('JSON text contains a lone surrogate')
  const { depthMax = JSON_DEPTH_MAX, valuesMax = Number.POSITIVE_INFINITY } = bounds
  const scan: Scan = { text, offset: 0, depthMax, left: valuesMax }
  skipSpace(scan)
  scanValue(scan, 0)
  skipSpace(scan)
  if (scan.offset !== text.length) fail(scan, 'text after the end of the value')
  return JSON.parse(text) as JsonValue
}

/** The one text of a value after RFC 8785; what has no JSON form is refused. */
export function canonicalJson(value: JsonValue): string {
  return write(value, 0)
}

function write(value: unknown, depth: number): string {
  if (depth > JSON_DEPTH_MAX) throw new Malformed(`JSON is nested deeper than ${JSON_DEPTH_MAX}`)
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return writeString(value)
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new Malformed('number cannot be written as JSON')
    return JSON.stringify(value)
  }
  if (Array.isArray(value)) return `[${value.map(item => write(item, depth + 1)).join(',')}]`
  if (typeof value !== 'object') throw new Malformed(`a ${typeof value} cannot be written as JSON`)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, item]) => `${writeString(name)}:${write(item, depth + 1)}`).join(',')}}`
}

function writeString(text: string): string {
  if (!text.isWellFormed()) throw new Malformed('text contains a lone surrogate')
  return JSON.stringify(text)
}

function scanValue(scan: Scan, depth: number): void {
  count(scan)
  const first = scan.text[scan.offset]
  if (first === '{') scanObject(scan, depth + 1)
  else if (first === '[') scanArray(scan, depth + 1)
  else if (first === '"') scanString(scan)
  else if (first === 't') scanWord(scan, 'true')
  else if (first === 'f') scanWord(scan, 'false')
  else if (first === 'n') scanWord(scan, 'null')
  else scanNumber(scan)
}

function scanObject(scan: Scan, depth: number): void {
  enter(scan, depth)
  const names = new Set<string>()
  if (take(scan, '}')) return
  do {
    skipSpace(scan)
    const start = scan.offset
    count(scan)
    if (scan.text[start] !== '"') fail(scan, 'a member name is missing')
    const name = scanString(scan, true)
    if (names.has(name)) {
      scan.offset = start
      fail(scan, `duplicate member ${JSON.stringify(name.slice(0, 64))}`)
    }
    names.add(name)
    if (!take(scan, ':')) fail(scan, 'a colon is missing')
    skipSpace(scan)
    scanValue(scan, depth)
  } while (take(scan, ','))
  if (!take(scan, '}')) fail(scan, 'object is not closed')
}

function scanArray(scan: Scan, depth: number): void {
  enter(scan, depth)
  if (take(scan, ']')) return
  do {
    skipSpace(scan)
    scanValue(scan, depth)
  } while (take(scan, ','))
  if (!take(scan, ']')) fail(scan, 'array is not closed')
}

/** What is many small things costs more than its bytes. */
function count(scan: Scan): void {
  scan.left -= 1
  if (scan.left < 0) fail(scan, 'too many values')
}

function enter(scan: Scan, depth: number): void {
  if (depth > scan.depthMax) fail(scan, `nested deeper than ${scan.depthMax}`)
  scan.offset++
}

/** Scans a string; gives the value of one that is a member's name. */
function scanString(scan: Scan, isName = false): string {
  const { text } = scan
  const start = scan.offset++
  do {
    PART.lastIndex = scan.offset
    PART.test(text)
    if (PART.lastIndex === scan.offset) break
    scan.offset = PART.lastIndex
  } while (text[scan.offset] !== '"')
  const stop = text[scan.offset]
  if (stop === undefined) fail(scan, 'string is not closed')
  if (stop !== '"') fail(scan, stop === '\\' ? 'escape is not one of JSON' : 'control character in a string')
  scan.offset++
  const quoted = text.slice(start, scan.offset)
  if (!isName && !SURROGATE.test(quoted)) return ''
  if (!quoted.includes('\\')) return quoted.slice(1, -1)
  const value = JSON.parse(quoted) as string
  if (!value.isWellFormed()) {
    scan.offset = start
    fail(scan, 'string holds a lone surrogate')
  }
  return value
}

function scanWord(scan: Scan, word: string): void {
  if (!scan.text.startsWith(word, scan.offset)) fail(scan, 'value is not one of JSON')
  scan.offset += word.length
}

/** Minus zero is refused: the canonical form cannot tell it from zero, so two texts would have one hash. */
function scanNumber(scan: Scan): void {
  NUMBER.lastIndex = scan.offset
  const token = NUMBER.exec(scan.text)?.[0] ?? fail(scan, 'value is not one of JSON')
  const value = Number(token)
  if (!Number.isFinite(value)) fail(scan, 'number is too large for a double')
  if (Object.is(value, -0)) fail(scan, 'number is minus zero')
  scan.offset = NUMBER.lastIndex
}

/** Takes a punctuation mark that may follow white space. */
function take(scan: Scan, mark: string): boolean {
  skipSpace(scan)
  if (scan.text[scan.offset] !== mark) return false
  scan.offset++
  return true
}

function skipSpace(scan: Scan): void {
  // most marks have none before them
  if (scan.text.charCodeAt(scan.offset) > 0x20) return
  SPACE.lastIndex = scan.offset
  SPACE.test(scan.text)
  scan.offset = SPACE.lastIndex
}

function fail(scan: Scan, fault: string): never {
  throw new Malformed(`JSON at ${scan.offset}: ${fault}`)
}
