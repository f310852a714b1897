import { readFileSync } from 'node:fs'
import { decode as decodeCbor2, encode as encodeCbor2 } from 'cbor2'
import { decode as decodeCborg, encode as encodeCborg, rfc8949EncodeOptions } from 'cborg'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { concat, fromHex, Malformed, toHex } from './bytes.ts'
import {
  CborFloat,
  type CborKey,
  type CborMap,
  type CborValue,
  decode,
  decodeFirst,
  encode,
  headBytes,
  mapSpans,
  subMap,
} from './cbor.ts'

type Case = {
  hex: string
  verdict: 'valid' | 'refused'
  floats?: boolean
  reason?: string
  diagnostic: string
}
const fixture = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../fixtures/cbor/${name}`, import.meta.url), 'utf8')).cases
const appendixA = fixture('appendix-a.json') as Case[]
const invalid = fixture('invalid.json') as { hex: string; reason: string }[]

const text = fc.string({ unit: 'grapheme', maxLength: 40 }).filter(value => value.isWellFormed())
const integer = fc
  .integer({ min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER })
  .map(n => (n === 0 ? 0 : n))
const key: fc.Arbitrary<CborKey> = fc.oneof(fc.nat(), fc.nat(Number.MAX_SAFE_INTEGER), text)
const { tree } = fc.letrec<{ tree: CborValue }>(tie => ({
  tree: fc.oneof(
    { maxDepth: 5 },
    integer,
    text,
    fc.uint8Array({ maxLength: 40 }),
    fc.constantFrom(true, false, null),
    fc.array(tie('tree'), { maxLength: 5 }),
    fc.array(fc.tuple(key, tie('tree')), { maxLength: 5 }).map(entries => new Map(entries) as CborMap),
  ),
}))

/** The value with the keys of every map in the order in which they are written. */
function plain(value: CborValue): unknown {
  if (value instanceof Map) {
    return [...value]
      .map(([name, item]): [string, unknown] => [toHex(encode(name)), plain(item)])
      .sort(([a], [b]) => (a < b ? -1 : 1))
  }
  return Array.isArray(value) ? value.map(plain) : value
}

describe('svc-cbor', () => {
  test(`judges the ${appendixA.length} examples of RFC 8949 appendix A by its profile`, () => {
    expect(appendixA.length).toBe(81)
    for (const { hex, verdict, floats, diagnostic } of appendixA) {
      const bytes = fromHex(hex)
      if (verdict === 'refused') expect(() => decode(bytes, { floats: true }), diagnostic).toThrow(Malformed)
      else expect(toHex(encode(decode(bytes, { floats: floats === true }))), diagnostic).toBe(hex)
      if (floats === true) expect(() => decode(bytes), diagnostic).toThrow(Malformed)
    }
  })

  test(`refuses ${invalid.length} faulty items`, () => {
    expect(invalid.length).toBe(54)
    for (const { hex, reason } of invalid) {
      expect(() => decode(fromHex(hex), { floats: true }), `${reason}: ${hex.slice(0, 40)}`).toThrow(
        Malformed,
      )
    }
  })

  test('decode after encode is the value itself', () => {
    fc.assert(
      fc.property(tree, value => {
        expect(plain(decode(encode(value)))).toEqual(plain(value))
      }),
    )
  })

  test('any bytes decode and encode to themselves, or are refused with Malformed', () => {
    const mutated = fc.tuple(tree, fc.nat(), fc.nat(255)).map(([value, at, byte]) => {
      const bytes = encode(value)
      bytes[at % bytes.length] = byte
      return bytes
    })
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 60 }), mutated), bytes => {
        let value: CborValue
        try {
          value = decode(bytes, { floats: true })
        } catch (error) {
          expect(error).toBeInstanceOf(Malformed)
          return
        }
        expect(toHex(encode(value))).toBe(toHex(bytes))
      }),
      { numRuns: 2000 },
    )
  })

  test('every cut of an item is refused', () => {
    fc.assert(
      fc.property(tree, fc.nat(), (value, at) => {
        const bytes = encode(value)
        expect(() => decode(bytes.subarray(0, at % bytes.length))).toThrow(Malformed)
      }),
    )
  })

  test('writes and reads what cborg and cbor2 do, where the profile lets them', () => {
    fc.assert(
      fc.property(tree, value => {
        const hex = toHex(encode(value))
        expect(toHex(encodeCborg(value, rfc8949EncodeOptions))).toBe(hex)
        expect(toHex(encodeCbor2(value, { cde: true, collapseBigInts: true }))).toBe(hex)
        const options = { useMaps: true, strict: true, rejectDuplicateMapKeys: true }
        expect(toHex(encode(decodeCborg(fromHex(hex), options) as CborValue))).toBe(hex)
        expect(toHex(encode(decodeCbor2(fromHex(hex), { preferMap: true }) as CborValue))).toBe(hex)
      }),
    )
  })

  test('refuses to write what it would not read', () => {
    const deep = (levels: number): CborValue => (levels === 0 ? 0 : [deep(levels - 1)])
    const faulty: unknown[] = [
      1.5,
      -0,
      Number.NaN,
      2 ** 53,
      '\ud800',
      undefined,
      1n,
      {},
      new Map([[-1, 0]]),
      deep(17),
    ]
    for (const value of faulty) expect(() => encode(value as CborValue)).toThrow(Malformed)
    expect(() => new CborFloat(-0)).toThrow(Malformed)
    expect(decode(encode(deep(16)))).toEqual(deep(16))
  })

  test('writes floats in their shortest form', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), value => {
        if (Object.is(value, -0)) return
        const bytes = encode(new CborFloat(value))
        expect(decode(bytes, { floats: true })).toEqual(new CborFloat(value))
        if (!Number.isInteger(value)) expect(toHex(encodeCbor2(value, { cde: true }))).toBe(toHex(bytes))
      }),
    )
  })

  test('survives a refused item: the next one is written whole', () => {
    expect(() => encode(['x'.repeat(50_000), undefined as never])).toThrow(Malformed)
    expect(toHex(encode([1, 'ü', 'a'.repeat(30)]))).toBe(`830162c3bc781e${'61'.repeat(30)}`)
  })

  test('gives byte strings that outlive their source', () => {
    const source = encode(new Uint8Array([1, 2, 3]))
    const value = decode(source)
    source.fill(0)
    expect(value).toEqual(new Uint8Array([1, 2, 3]))
  })
})

describe('parts of items', () => {
  const map: CborMap = new Map<number, CborValue>([
    [1, 'one'],
    [2, [1, 2]],
    [15, new Uint8Array(64)],
  ])

  test('a sub-map is the canonical map of the listed keys', () => {
    const bytes = encode(map)
    expect(toHex(subMap(bytes, k => k !== 15))).toBe(
      toHex(encode(new Map([...map].filter(([k]) => k !== 15)))),
    )
    expect(mapSpans(bytes).map(span => span.key)).toEqual([1, 2, 15])
    expect(() => subMap(encode([1]), () => true)).toThrow(Malformed)
  })

  test('the first item ends where padding begins', () => {
    const bytes = encode(map)
    expect(decodeFirst(concat(bytes, new Uint8Array(9)))).toEqual({ value: map, end: bytes.length })
  })

  test('heads are the shortest of their argument', () => {
    const expected = [
      '00',
      '17',
      '1818',
      '18ff',
      '190100',
      '19ffff',
      '1a00010000',
      '1affffffff',
      '1b0000000100000000',
    ]
    const written = [0, 23, 24, 255, 256, 65535, 65536, 2 ** 32 - 1, 2 ** 32].map(n => toHex(headBytes(0, n)))
    expect(written).toEqual(expected)
  })
})

describe('heads', () => {
  test.each([
    [23, '17'],
    [24, '1818'],
    [255, '18ff'],
    [256, '190100'],
    [65_535, '19ffff'],
    [65_536, '1a00010000'],
    [2 ** 32 - 1, '1affffffff'],
    [2 ** 32, '1b0000000100000000'],
  ])('%i has the shortest one', (value, hex) => {
    expect(toHex(encode(value))).toBe(hex)
    expect(decode(fromHex(hex))).toBe(value)
  })

  test.each(['1c', '1d', '1e', '1f', '5c00', 'dc', 'fc'])('the reserved head %s is refused', hex => {
    expect(() => decode(fromHex(hex + '00'.repeat(16)))).toThrow(/reserved head/)
  })
})
