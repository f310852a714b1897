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
  if (!text.isWellFormed()) throw new Malformed('text holds a lone surrogate')
  return utf8Encoder.encode(text)
}

/** Text of valid UTF-8. */
export function fromUtf8(bytes: Uint8Array): string {
  try {
    return utf8Decoder.decode(bytes)
  } catch {
    throw new Malformed('bytes are not valid UTF-8')
  }
}

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

const view = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** base64url without padding, the form of every binary value in wire-3 JSON. */
export function toBase64url(bytes: Uint8Array): string {
  return view(bytes).toString('base64url')
}

/** Strict inverse of {@link toBase64url}: no padding, no other alphabet, no set spare bits. */
export function fromBase64url(text: string, name = 'value'): Uint8Array {
  return strictDecode(text, 'base64url', name)
}

/** Standard base64 with padding, the form of wire 1. */
export function toBase64(bytes: Uint8Array): string {
  return view(bytes).toString('base64')
}

/** Strict inverse of {@link toBase64}. */
export function fromBase64(text: string, name = 'value'): Uint8Array {
  return strictDecode(text, 'base64', name)
}

export function toHex(bytes: Uint8Array): string {
  return view(bytes).toString('hex')
}

/** Strict inverse of {@link toHex}: lower case, even length. */
export function fromHex(text: string, name = 'value'): Uint8Array {
  return strictDecode(text, 'hex', name)
}

function strictDecode(text: string, encoding: 'base64url' | 'base64' | 'hex', name: string): Uint8Array {
  const bytes = Buffer.from(text, encoding)
  if (bytes.toString(encoding) !== text) throw new Malformed(`${name} is not ${encoding}`)
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
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
