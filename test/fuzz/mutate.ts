/** Mutations of real bytes and texts that depend on one number alone, so that a failure can be repeated. */

/** Bytes at which formats of ours change their meaning: heads of CBOR, JSON's signs, edges of numbers. */
const TELLING = Uint8Array.from([
  0x00, 0x17, 0x18, 0x1a, 0x1b, 0x20, 0x22, 0x2c, 0x3a, 0x40, 0x58, 0x5a, 0x5b, 0x5c, 0x5d, 0x5f, 0x60, 0x78,
  0x7b, 0x7d, 0x7f, 0x80, 0x98, 0x9b, 0x9f, 0xa0, 0xb8, 0xbb, 0xbf, 0xc0, 0xd8, 0xdb, 0xed, 0xf4, 0xf6, 0xf7,
  0xf8, 0xf9, 0xfb, 0xff,
])
/** Texts that readers of JSON, names and addresses stumble over. */
const TELLING_TEXTS = [
  '1e999',
  '-0',
  '9007199254740993',
  '"__proto__"',
  '{"constructor":{"prototype":1}}',
  '[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[',
  '\\ud800',
  '\\u0000',
  '\u202e',
  '../',
  'null',
  '""',
  '{}',
  '[]',
  ',',
  '"a":1,',
  '%00',
  '=',
].map(text => new TextEncoder().encode(text))
const EDITS_MAX = 4
const PIECE_MAX = 64

/** Numbers below `end`, all of them following from one number. */
export type Draw = (end: number) => number

/** Mulberry32: small, fast and even enough to choose edits. */
export function drawFrom(seed: number): Draw {
  let state = seed >>> 0
  return end => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % end
  }
}

/** One of the real byte strings, edited one to four times. */
export function mutate(real: readonly Uint8Array[], draw: Draw): Uint8Array {
  let bytes = new Uint8Array(pick(real, draw))
  for (let edits = 1 + draw(EDITS_MAX); edits > 0; edits--) bytes = edit(bytes, real, draw)
  return bytes
}

const pick = <T>(from: ArrayLike<T>, draw: Draw): T => from[draw(from.length)] as T

function edit(
  bytes: Uint8Array<ArrayBuffer>,
  real: readonly Uint8Array[],
  draw: Draw,
): Uint8Array<ArrayBuffer> {
  if (bytes.length === 0) return Uint8Array.of(draw(256))
  const at = draw(bytes.length)
  const end = Math.min(bytes.length, at + 1 + draw(PIECE_MAX))
  switch (draw(9)) {
    case 0:
      bytes[at] = (bytes[at] as number) ^ (1 << draw(8))
      return bytes
    case 1:
      bytes[at] = pick(TELLING, draw)
      return bytes
    case 2:
      bytes[at] = draw(256)
      return bytes
    case 3:
      return bytes.slice(0, at)
    case 4:
      return join(bytes.subarray(0, at), bytes.subarray(end))
    case 5:
      return join(bytes.subarray(0, end), bytes.subarray(at))
    case 6:
      return join(bytes.subarray(0, at), pick(TELLING_TEXTS, draw), bytes.subarray(at))
    case 7: {
      const other = pick(real, draw)
      return join(bytes.subarray(0, at), other.subarray(draw(other.length + 1)))
    }
    default:
      // The longest length that a head can claim, in the place of eight bytes.
      return join(
        bytes.subarray(0, at),
        Uint8Array.of(pick(TELLING, draw), 255, 255, 255, 255),
        bytes.subarray(at + 5),
      )
  }
}

function join(...parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
