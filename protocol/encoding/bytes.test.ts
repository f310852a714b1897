import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anyText } from '../testing/agents.ts'
import {
  compare,
  concat,
  equal,
  fromBase64,
  fromBase64url,
  fromHex,
  fromUtf8,
  Malformed,
  sized,
  toBase64,
  toBase64url,
  toHex,
  u32be,
  u64be,
  utf8,
  utf8Length,
} from './bytes.ts'

describe('text forms of bytes', () => {
  const forms = [
    { name: 'base64url', to: toBase64url, from: fromBase64url },
    { name: 'base64', to: toBase64, from: fromBase64 },
    { name: 'hex', to: toHex, from: fromHex },
  ]
  for (const { name, to, from } of forms) {
    test(`${name} gives back every byte string`, () => {
      fc.assert(fc.property(fc.uint8Array(), bytes => equal(from(to(bytes)), bytes)))
    })

    test(`${name} accepts only what it would have written`, () => {
      fc.assert(
        fc.property(fc.string(), text => {
          try {
            expect(to(from(text))).toBe(text)
          } catch (error) {
            expect(error).toBeInstanceOf(Malformed)
          }
        }),
      )
    })
  }

  test('refuses padding, spare bits, other alphabets and white space, naming the value', () => {
    for (const text of ['AA==', 'AB', 'A', 'A A', '+/', 'AA\n', 'ÄÄ']) {
      expect(() => fromBase64url(text, 'kid'), text).toThrow('kid is not base64url')
    }
    for (const text of ['AA', 'AB==', '-_==', 'AA==\n'])
      expect(() => fromBase64(text), text).toThrow(Malformed)
    for (const text of ['A', 'AA', 'zz', '0x00', 'aa ']) expect(() => fromHex(text), text).toThrow(Malformed)
  })
})

describe('bytes', () => {
  test('UTF-8 goes both ways and refuses what is not well formed', () => {
    fc.assert(
      fc.property(anyText, text => {
        if (text.isWellFormed()) expect(fromUtf8(utf8(text))).toBe(text)
        else expect(() => utf8(text)).toThrow(Malformed)
      }),
    )
    expect(() => fromUtf8(new Uint8Array([0xed, 0xa0, 0x80]))).toThrow(Malformed)
    expect(fromUtf8(new Uint8Array([0xef, 0xbb, 0xbf, 0x61]))).toBe('\ufeffa')
  })

  test('order is lexicographic, a prefix first', () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.uint8Array(), (a, b) => {
        expect(Math.sign(compare(a, b))).toBe(Math.sign(Buffer.compare(a, b)))
        expect(equal(a, b)).toBe(Buffer.compare(a, b) === 0)
      }),
    )
  })

  test('integers are big-endian', () => {
    expect(toHex(u64be(Number.MAX_SAFE_INTEGER))).toBe('001fffffffffffff')
    expect(toHex(u32be(258))).toBe('00000102')
  })

  test('joins parts and refuses another length by the name of the argument', () => {
    expect(toHex(concat(new Uint8Array([1]), new Uint8Array(0), new Uint8Array([2, 3])))).toBe('010203')
    expect(() => sized(new Uint8Array(3), 4, 'sid')).toThrow('sid must be 4 bytes, got 3')
  })
})

describe('length in UTF-8', () => {
  test.each([
    ['\u007f', 1],
    ['\u0080', 2],
    ['\u07ff', 2],
    ['\u0800', 3],
    ['\ud7ff', 3],
    ['\ud7ff\udc00', 6],
    ['\ud800', 3],
    ['\ud800\udc00', 4],
    ['\udbff\udfff', 4],
    ['\udc00\udc00', 6],
    ['\ue000', 3],
    ['', 0],
  ])('%j has its bytes', (text, bytes) => {
    expect(utf8Length(text)).toBe(bytes)
    expect(new TextEncoder().encode(text).length).toBe(bytes)
  })
})
