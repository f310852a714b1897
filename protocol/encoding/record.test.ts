import { describe, expect, test } from 'vitest'
import { publicKey as publicKeyOf } from '#crypto'
import { signed } from '../crypto/signed.ts'
import { Malformed, toHex, utf8 } from './bytes.ts'
import { CborFloat, type CborValue, encode } from './cbor.ts'
import {
  blob,
  bool,
  bytes,
  int,
  item,
  list,
  literal,
  mapped,
  nullable,
  oneOf,
  optional,
  record,
  required,
  text,
  tuple,
  uint,
} from './record.ts'

const Sample = record('sample', {
  v: required(1, literal(1)),
  name: required(2, text(4)),
  id: optional(3, bytes(2)),
  tags: required(4, list(uint, 2, 1)),
  pair: required(5, tuple<[number, boolean]>(int, bool)),
  note: required(6, nullable(blob(3))),
  size: required(7, oneOf('S', 'L')),
  any: optional(8, item),
  double: optional(
    9,
    mapped(
      uint,
      n => n * 2,
      n => n / 2,
    ),
  ),
})
const sample = { v: 1, name: 'abcd', tags: [1], pair: [-1, true], note: null, size: 'L' } as const
const good = { ...sample, tags: [1], pair: [-1, true] as [number, boolean] }

/** The encoded sample with one key replaced (or removed). */
function withKey(key: number | string, value?: CborValue): Uint8Array {
  const map = Sample.write(good) as Map<number | string, CborValue>
  if (value === undefined) map.delete(key)
  else map.set(key, value)
  return encode(map)
}

describe('records', () => {
  test('give back what was written; an absent optional field has no key', () => {
    expect(Sample.decode(Sample.encode(good))).toEqual(good)
    const full = { ...good, id: new Uint8Array(2), any: [1], double: 6, note: new Uint8Array(3) }
    expect(Sample.decode(Sample.encode(full))).toEqual(full)
    expect(toHex(Sample.encode(good))).toBe('a60101026461626364048101058220f506f607614c')
  })

  test('refuse unknown, missing and mistyped keys by name', () => {
    const cases: [Uint8Array, string][] = [
      [withKey(10, 1), 'sample has an unknown key 10'],
      [withKey('a', 1), 'sample has an unknown key a'],
      [withKey(2), 'sample is missing name (key 2)'],
      [withKey(1, 2), 'sample v is not 1'],
      [withKey(2, 'abcde'), 'sample name is not text of at most 4 bytes'],
      [withKey(2, 'äöü'), 'sample name is not text of at most 4 bytes'],
      [withKey(3, new Uint8Array(3)), 'sample id is not 2 bytes'],
      [withKey(3, null), 'sample id is not 2 bytes'],
      [withKey(4, []), 'sample tags has 0 items; expected 1 to 2'],
      [withKey(4, [1, 2, 3]), 'sample tags has 3 items; expected 1 to 2'],
      [withKey(4, [-1]), 'sample tags[0] is not an unsigned integer'],
      [withKey(5, [1]), 'sample pair is not an array of 2'],
      [withKey(5, [1, 1]), 'sample pair[1] is not a boolean'],
      [withKey(6, new Uint8Array(4)), 'sample note is not at most 3 bytes'],
      [withKey(7, 'M'), 'sample size is not one of S, L'],
      [encode([1]), 'sample is not a map'],
    ]
    for (const [encoded, sentence] of cases) {
      expect(() => Sample.decode(encoded)).toThrow(new Malformed(sentence))
    }
  })

  test('a float never passes for an integer', () => {
    expect(() => Sample.decode(withKey(4, [new CborFloat(1)]))).toThrow(Malformed)
  })

  test('a member left out in writing is a mistake of ours', () => {
    expect(() => Sample.encode({ ...good, name: undefined as never })).toThrow('sample needs name')
  })
})

describe('signed objects', () => {
  const Body = record('body', { v: required(1, literal(1)), text: required(2, text(100)) })
  const Note = signed('svc-note/v1', Body, 64)
  const seed = new Uint8Array(32).fill(9)

  test('verify over the body bytes as received', () => {
    const note = Note.decode(Note.encode(Note.sign(seed, { v: 1, text: 'hello' })))
    expect(note.body.text).toBe('hello')
    const key = publicKeyOf(seed)
    expect(Note.verify(key, note)).toBe(true)
    expect(Note.verify(key, { ...note, bodyBytes: utf8('other') })).toBe(false)
    expect(Note.verify(publicKeyOf(new Uint8Array(32)), note)).toBe(false)
  })

  test('refuse a body over its limit, a short signature and a third member', () => {
    const { bodyBytes, signature } = Note.sign(seed, { v: 1, text: 'x'.repeat(80) })
    expect(() => Note.decode(encode([bodyBytes, signature]))).toThrow(Malformed)
    const short = Note.sign(seed, { v: 1, text: 'x' })
    expect(() => Note.decode(encode([short.bodyBytes, signature.subarray(1)]))).toThrow(Malformed)
    expect(() => Note.decode(encode([short.bodyBytes, signature, 1]))).toThrow(Malformed)
  })

  test('a signature of one label is refused under another', () => {
    const Other = signed('svc-other/v1', Body, 64)
    expect(Other.verify(publicKeyOf(seed), Note.sign(seed, { v: 1, text: 'x' }))).toBe(false)
  })
})
