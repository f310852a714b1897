/**
 * Bytes and their text forms: base64url and base64 (strict), hex, concatenation, comparison, big-endian integers.
 * Everything here refuses what it would not itself have written.
 */

import { Refusal } from './errors.ts'

/** Bytes or text that do not have the form their place demands. `message` names the place and the fault. */
export class Malformed extends Refusal<'malformed'> {
  override name = 'Malformed'
  constructor(sentence: string) {
    super('malformed', sentence)
  }
}

const utf8Encoder = new TextEncoder()
const utf8Decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** UTF-8 bytes of well-formed text; a lone surrogate is refused. */
export function utf8(text: string): Uint8Array {
  if (!text.isWellFormed()) throw new Malformed('text contains a lone surrogate')
  return utf8Encoder.encode(text)
}

/** Bytes of the text in UTF-8; a lone surrogate counts as the three bytes of its replacement. */
export function utf8Length(text: string): number {
  let length = text.length
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 0x80) continue
    length += unit < 0x800 ? 1 : 2
    // a pair of surrogates is four bytes for its two units
    if (unit >= 0xd800 && unit < 0xdc00 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) i++
  }
  return length
}

/** Text of valid UTF-8. */
export function fromUtf8(bytes: Uint8Array): string {
  try {
    return utf8Decoder.decode(bytes)
  } catch {
    throw new Malformed('bytes are not valid UTF-8')
  }
}

/** The parts in their order, in a new array. */
export function concat(...parts: Uint8Array[]): Uint8Array {
  let length = 0
  for (const part of parts) length += part.length
  const joined = new Uint8Array(length)
  let offset = 0
  for (const part of parts) {
    joined.set(part, offset)
    offset += part.length
  }
  return joined
}

/** Equality that leaks length and position of the first difference; secrets are compared in `#crypto`. */
export function equal(a: Uint8Array, b: Uint8Array): boolean {
  return compare(a, b) === 0
}

/** Lexicographic order of bytes: negative, zero or positive. */
export function compare(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const difference = (a[i] as number) - (b[i] as number)
    if (difference !== 0) return difference
  }
  return a.length - b.length
}

/** base64url without padding, the form of every binary value in wire-3 JSON. */
export function toBase64url(bytes: Uint8Array): string {
  return print(bytes, base64url)
}

/** Strict inverse of {@link toBase64url}: no padding, no other alphabet, no set spare bits. */
export function fromBase64url(text: string, name = 'value'): Uint8Array {
  return parse(text, base64url, name)
}

/** Standard base64 with padding, the form of wire 1. */
export function toBase64(bytes: Uint8Array): string {
  const text = print(bytes, base64)
  return text + '='.repeat(-text.length & 3)
}

/** Strict inverse of {@link toBase64}. */
export function fromBase64(text: string, name = 'value'): Uint8Array {
  const end = text.length - (text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0)
  if (text.length % 4 !== 0) throw new Malformed(`${name} is not base64`)
  return parse(text.slice(0, end), base64, name)
}

type Alphabet = { name: 'base64url' | 'base64'; letters: string; values: Int8Array }

function alphabet(name: Alphabet['name'], last: string): Alphabet {
  const letters = `ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789${last}`
  const values = new Int8Array(128).fill(-1)
  for (let i = 0; i < letters.length; i++) values[letters.charCodeAt(i)] = i
  return { name, letters, values }
}
const base64url = alphabet('base64url', '-_')
const base64 = alphabet('base64', '+/')

/** Newer runtimes convert by themselves; reading short texts they are slower than the loop here. */
const native = 'toBase64' in Uint8Array.prototype
const NATIVE_READ_CHARS_MIN = 256

/** base64 without padding. */
function print(bytes: Uint8Array, { name, letters }: Alphabet): string {
  if (native) return bytes.toBase64({ alphabet: name, omitPadding: true })
  let text = ''
  let i = 0
  for (; i + 2 < bytes.length; i += 3) {
    const three = ((bytes[i] as number) << 16) | ((bytes[i + 1] as number) << 8) | (bytes[i + 2] as number)
    text +=
      (letters[three >> 18] as string) +
      letters[(three >> 12) & 63] +
      letters[(three >> 6) & 63] +
      letters[three & 63]
  }
  const left = bytes.length - i
  if (left === 0) return text
  const two = ((bytes[i] as number) << 8) | (left === 2 ? (bytes[i + 1] as number) : 0)
  text += (letters[two >> 10] as string) + letters[(two >> 4) & 63]
  return left === 2 ? text + letters[(two << 2) & 63] : text
}

function parse(text: string, alphabet: Alphabet, name: string): Uint8Array {
  const bytes =
    native && text.length >= NATIVE_READ_CHARS_MIN ? parseNative(text, alphabet) : parseOwn(text, alphabet)
  if (bytes === undefined) throw new Malformed(`${name} is not ${alphabet.name}`)
  return bytes
}

/** The runtime forgives white space; printing again shows it. */
function parseNative(text: string, alphabet: Alphabet): Uint8Array | undefined {
  try {
    const bytes = Uint8Array.fromBase64(text, { alphabet: alphabet.name })
    return print(bytes, alphabet) === text ? bytes : undefined
  } catch {
    return undefined
  }
}

function parseOwn(text: string, { values }: Alphabet): Uint8Array | undefined {
  if (text.length % 4 === 1) return undefined
  const bytes = new Uint8Array((text.length * 3) >> 2)
  let offset = 0
  let bits = 0
  let held = 0
  for (let i = 0; i < text.length; i++) {
    const value = values[text.charCodeAt(i)] ?? -1
    if (value < 0) return undefined
    held = ((held << 6) | value) & 0xfff
    bits += 6
    if (bits < 8) continue
    bits -= 8
    bytes[offset++] = held >> bits
  }
  return (held & ((1 << bits) - 1)) === 0 ? bytes : undefined
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

/** Lower case, two digits a byte. */
export function toHex(bytes: Uint8Array): string {
  if (native) return bytes.toHex()
  let text = ''
  for (const byte of bytes) text += HEX[byte]
  return text
}

/** Strict inverse of {@link toHex}: lower case, even length. */
export function fromHex(text: string, name = 'value'): Uint8Array {
  if (!/^(?:[0-9a-f]{2})*$/.test(text)) throw new Malformed(`${name} is not hex`)
  if (native) return Uint8Array.fromHex(text)
  const bytes = new Uint8Array(text.length / 2)
  for (let i = 0; i < bytes.length; i++) bytes[i] = Number.parseInt(text.slice(2 * i, 2 * i + 2), 16)
  return bytes
}

/** Eight bytes, big-endian, of an integer in 0 … 2^53 − 1. */
export function u64be(value: number): Uint8Array {
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value))
  return bytes
}

/** Four bytes, big-endian. */
export function u32be(value: number): Uint8Array {
  const bytes = new Uint8Array(4)
  new DataView(bytes.buffer).setUint32(0, value)
  return bytes
}

/** Refuses bytes of another length, naming the argument. */
export function sized(bytes: Uint8Array, length: number, name: string): Uint8Array {
  if (bytes.length !== length) throw new Malformed(`${name} must be ${length} bytes, got ${bytes.length}`)
  return bytes
}
