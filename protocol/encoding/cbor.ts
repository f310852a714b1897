/**
 * svc-cbor: RFC 8949 core deterministic encoding, narrowed to what signed objects need. Encoder and decoder are our
 * own, because the bytes decide what a signature covers: no library writes and accepts this one encoding only.
 * Every byte sequence either decodes or is refused with {@link Malformed}, and what decodes re-encodes to itself.
 */
import { compare, fromUtf8, Malformed, utf8 } from './bytes.ts'

/** Levels below the outermost item at most, objects §2. */
export const DEPTH_MAX = 16
const SCRATCH_BYTES = 16 * 1024

/** A number that is written as a float even when it is whole; only effect metrics use it. */
export class CborFloat {
  readonly value: number
  constructor(value: number) {
    if (!Number.isFinite(value) || Object.is(value, -0)) throw new Malformed('float is NaN, infinite or -0')
    this.value = value
  }
}

/** An unsigned integer or a text, objects §2. */
export type CborKey = number | string
/** In any order: keys are written in the order of their encoded bytes, objects §2. */
export type CborMap = Map<CborKey, CborValue>
/** Numbers are integers from −(2^53 − 1) to 2^53 − 1; a float is a {@link CborFloat} (objects §2). */
export type CborValue = number | string | boolean | null | Uint8Array | CborFloat | CborValue[] | CborMap

/** The one encoding of a value; anything outside the profile is refused with {@link Malformed}. */
export function encode(value: CborValue): Uint8Array {
  written = 0
  writeItem(value, 0)
  return finish()
}

/** The value of exactly these bytes; byte strings are copies. Floats are refused unless asked for. */
export function decode(bytes: Uint8Array, options: { floats?: boolean } = {}): CborValue {
  const reader: Reader = { bytes, offset: 0, floats: options.floats === true }
  const value = readItem(reader, 0)
  const rest = bytes.length - reader.offset
  if (rest !== 0) throw new Malformed(`${rest} trailing bytes after the item`)
  return value
}

/** The first item of the bytes and where it ends, for items that padding follows. */
export function decodeFirst(bytes: Uint8Array): { value: CborValue; end: number } {
  const reader: Reader = { bytes, offset: 0, floats: false }
  const value = readItem(reader, 0)
  return { value, end: reader.offset }
}

/** Byte spans of the entries of a top-level map with unsigned keys. */
export function mapSpans(bytes: Uint8Array): { key: number; start: number; end: number }[] {
  const head = readHead(bytes, 0)
  if (head.major !== 5) throw new Malformed('item is not a map')
  const reader: Reader = { bytes, offset: head.next, floats: true }
  const spans = []
  for (let i = 0; i < head.argument; i++) {
    const start = reader.offset
    const key = readItem(reader, 1)
    if (typeof key !== 'number') throw new Malformed('map key is not an unsigned integer')
    readItem(reader, 1)
    spans.push({ key, start, end: reader.offset })
  }
  return spans
}

/** The canonical map of the listed keys of a map: its own header, then those entries' bytes as received. */
export function subMap(bytes: Uint8Array, keep: (key: number) => boolean): Uint8Array {
  const spans = mapSpans(bytes).filter(span => keep(span.key))
  const length = spans.reduce((sum, span) => sum + span.end - span.start, 0)
  const header = headBytes(5, spans.length)
  const out = new Uint8Array(header.length + length)
  out.set(header)
  let offset = header.length
  for (const span of spans) {
    out.set(bytes.subarray(span.start, span.end), offset)
    offset += span.end - span.start
  }
  return out
}

/** Shortest head of an item: major type and argument. Streams write byte-string heads with it. */
export function headBytes(major: number, argument: number): Uint8Array {
  const type = major << 5
  if (argument < 24) return Uint8Array.of(type | argument)
  const size = argument < 0x100 ? 1 : argument < 0x1_0000 ? 2 : argument < 0x1_0000_0000 ? 4 : 8
  const bytes = new Uint8Array(1 + size)
  bytes[0] = type | (24 + Math.log2(size))
  const view = new DataView(bytes.buffer)
  if (size === 8) view.setBigUint64(1, BigInt(argument))
  else for (let i = size, rest = argument; i > 0; i--, rest = Math.floor(rest / 256)) bytes[i] = rest & 255
  return bytes
}

/** Major type 0 to 7, its argument, and the offset of the byte behind the head. */
export type Head = { major: number; argument: number; next: number }

/** Reads the head of the item at `offset`, refusing a longer form than needed and indefinite lengths. */
export function readHead(bytes: Uint8Array, offset: number): Head {
  const initial = bytes[offset]
  if (initial === undefined) throw new Malformed('item is truncated')
  const major = initial >> 5
  const short = initial & 31
  if (short < 24) return { major, argument: short, next: offset + 1 }
  if (short > 27) throw new Malformed('indefinite length or reserved head')
  const size = 1 << (short - 24)
  if (offset + 1 + size > bytes.length) throw new Malformed('item is truncated')
  let argument = 0
  for (let i = 1; i <= size; i++) argument = argument * 256 + (bytes[offset + i] as number)
  if (major === 7) return { major, argument, next: offset + 1 + size }
  if (!Number.isSafeInteger(argument)) throw new Malformed('integer outside the safe range')
  const least = size === 1 ? 24 : 2 ** (4 * size)
  if (argument < least) throw new Malformed('head is not in its shortest form')
  return { major, argument, next: offset + 1 + size }
}

/**
 * One buffer serves every call of {@link encode}: writing calls nothing of the caller's, so calls never interleave.
 * It starts over after a large item.
 */
let scratch = new Uint8Array(SCRATCH_BYTES)
let written = 0

function room(more: number): void {
  const needed = written + more
  if (needed <= scratch.length) return
  const grown = new Uint8Array(Math.max(needed, scratch.length * 2))
  grown.set(scratch.subarray(0, written))
  scratch = grown
}

function finish(): Uint8Array {
  const bytes = scratch.slice(0, written)
  if (scratch.length > SCRATCH_BYTES) scratch = new Uint8Array(SCRATCH_BYTES)
  return bytes
}

function push(part: Uint8Array): void {
  room(part.length)
  scratch.set(part, written)
  written += part.length
}

function writeHead(major: number, argument: number): void {
  room(9)
  const type = major << 5
  if (argument < 24) scratch[written++] = type | argument
  else if (argument < 0x100) {
    scratch[written++] = type | 24
    scratch[written++] = argument
  } else if (argument < 0x1_0000) {
    scratch[written++] = type | 25
    scratch[written++] = argument >>> 8
    scratch[written++] = argument
  } else if (argument < 0x1_0000_0000) {
    scratch[written++] = type | 26
    writeWord(argument)
  } else {
    scratch[written++] = type | 27
    writeWord(Math.floor(argument / 0x1_0000_0000))
    writeWord(argument)
  }
}

function writeWord(word: number): void {
  scratch[written++] = word >>> 24
  scratch[written++] = word >>> 16
  scratch[written++] = word >>> 8
  scratch[written++] = word
}

function writeItem(value: CborValue, depth: number): void {
  if (depth > DEPTH_MAX) throw new Malformed(`nesting is deeper than ${DEPTH_MAX}`)
  if (typeof value === 'number') writeInteger(value)
  else if (value instanceof Uint8Array) writeString(2, value)
  else if (typeof value === 'string') writeText(value)
  else if (value === null) writeHead(7, 22)
  else if (typeof value === 'boolean') writeHead(7, value ? 21 : 20)
  else if (Array.isArray(value)) {
    writeHead(4, value.length)
    for (const item of value) writeItem(item, depth + 1)
  } else if (value instanceof Map) writeMap(value, depth)
  else if (value instanceof CborFloat) push(floatBytes(value.value))
  else throw new Malformed(`a ${typeof value} cannot be encoded`)
}

function writeInteger(value: number): void {
  if (!Number.isSafeInteger(value) || Object.is(value, -0))
    throw new Malformed('number is not a safe integer')
  if (value >= 0) writeHead(0, value)
  else writeHead(1, -1 - value)
}

function writeString(major: 2 | 3, bytes: Uint8Array): void {
  writeHead(major, bytes.length)
  push(bytes)
}

/** Short ASCII is written unit by unit; the first unit beyond it hands over to the general way. */
function writeText(text: string): void {
  if (text.length >= 24) return void writeString(3, utf8(text))
  const start = written
  writeHead(3, text.length)
  room(text.length)
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit >= 0x80) {
      written = start
      return void writeString(3, utf8(text))
    }
    scratch[written++] = unit
  }
}

function writeMap(map: CborMap, depth: number): void {
  if (ascends(map)) {
    writeHead(5, map.size)
    for (const [key, value] of map) {
      writeHead(0, key as number)
      writeItem(value, depth + 1)
    }
    return
  }
  const entries = [...map].map(([key, value]) => ({ key: keyBytes(key), value }))
  entries.sort((a, b) => compare(a.key, b.key))
  writeHead(5, entries.length)
  for (const { key, value } of entries) {
    push(key)
    writeItem(value, depth + 1)
  }
}

/** Whether all keys are unsigned and already stand in order, as records give them. */
function ascends(map: CborMap): boolean {
  let previous = -1
  for (const key of map.keys()) {
    if (typeof key !== 'number' || !(key > previous) || !Number.isSafeInteger(key)) return false
    previous = key
  }
  return true
}

function keyBytes(key: CborKey): Uint8Array {
  if (typeof key === 'string') {
    const text = utf8(key)
    const head = headBytes(3, text.length)
    const bytes = new Uint8Array(head.length + text.length)
    bytes.set(head)
    bytes.set(text, head.length)
    return bytes
  }
  if (!Number.isSafeInteger(key) || key < 0 || Object.is(key, -0)) {
    throw new Malformed('map key is not an unsigned integer')
  }
  return headBytes(0, key)
}

type Reader = { bytes: Uint8Array; offset: number; floats: boolean }

function readItem(reader: Reader, depth: number): CborValue {
  if (depth > DEPTH_MAX) throw new Malformed(`nesting is deeper than ${DEPTH_MAX}`)
  const start = reader.offset
  const { major, argument, next } = readHead(reader.bytes, start)
  reader.offset = next
  switch (major) {
    case 0:
      return argument
    case 1:
      if (argument === Number.MAX_SAFE_INTEGER) throw new Malformed('integer outside the safe range')
      return -1 - argument
    case 2:
      return readString(reader, argument).slice()
    case 3:
      return fromUtf8(readString(reader, argument))
    case 4:
      return readArray(reader, argument, depth)
    case 5:
      return readMap(reader, argument, depth)
    case 6:
      throw new Malformed('tags are not allowed')
    default:
      return readSimple(reader, start, argument)
  }
}

function readString(reader: Reader, length: number): Uint8Array {
  const end = reader.offset + length
  if (end > reader.bytes.length) throw new Malformed('string is truncated')
  const bytes = reader.bytes.subarray(reader.offset, end)
  reader.offset = end
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function readArray(reader: Reader, count: number, depth: number): CborValue[] {
  if (count > reader.bytes.length - reader.offset) throw new Malformed('array is longer than its bytes')
  const items: CborValue[] = []
  for (let i = 0; i < count; i++) items.push(readItem(reader, depth + 1))
  return items
}

function readMap(reader: Reader, count: number, depth: number): CborMap {
  if (count * 2 > reader.bytes.length - reader.offset) throw new Malformed('map is longer than its bytes')
  const map: CborMap = new Map()
  let previous: Uint8Array | undefined
  for (let i = 0; i < count; i++) {
    const start = reader.offset
    const key = readItem(reader, depth + 1)
    if (typeof key !== 'string' && (typeof key !== 'number' || key < 0)) {
      throw new Malformed('map key must be an unsigned integer or text')
    }
    const encoded = reader.bytes.subarray(start, reader.offset)
    if (previous !== undefined && compare(previous, encoded) >= 0)
      throw new Malformed('map keys are not in ascending order')
    previous = encoded
    map.set(key, readItem(reader, depth + 1))
  }
  return map
}

function readSimple(reader: Reader, start: number, argument: number): CborValue {
  const size = reader.offset - start - 1
  if (size === 0 && argument >= 20 && argument <= 22) return argument === 22 ? null : argument === 21
  if (size < 2) throw new Malformed('simple value is not allowed')
  if (!reader.floats) throw new Malformed('float is not allowed here')
  const float = new CborFloat(readFloat(reader.bytes, start + 1, size))
  if (floatBytes(float.value).length !== size + 1) throw new Malformed('float is not in its shortest form')
  return float
}

function readFloat(bytes: Uint8Array, offset: number, size: number): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset + offset, size)
  return size === 2 ? view.getFloat16(0) : size === 4 ? view.getFloat32(0) : view.getFloat64(0)
}

function floatBytes(value: number): Uint8Array {
  const view = new DataView(new ArrayBuffer(9))
  const size = Math.f16round(value) === value ? 2 : Math.fround(value) === value ? 4 : 8
  view.setUint8(0, 0xf8 + Math.log2(size))
  if (size === 2) view.setFloat16(1, value)
  else if (size === 4) view.setFloat32(1, value)
  else view.setFloat64(1, value)
  return new Uint8Array(view.buffer, 0, size + 1)
}
