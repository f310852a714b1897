import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Malformed, utf8 } from './bytes.ts'
import { canonicalJson, type JsonValue, parseJson } from './json.ts'

const fixtures = new URL('../../fixtures/', import.meta.url)
const invalid = readdirSync(new URL('json/invalid/', fixtures))
const pairs = readdirSync(new URL('vectors/', fixtures)).filter(name => name.startsWith('jcs_input_'))
/** JSON values whose numbers have a canonical form of their own. */
const values = fc.jsonValue({ noUnicodeString: false }).map(value => JSON.parse(JSON.stringify(value)))

describe('strict JSON', () => {
  test(`refuses ${invalid.length} faulty texts, naming nothing but the fault`, () => {
    expect(invalid.length).toBe(52)
    for (const name of invalid) {
      const bytes = new Uint8Array(readFileSync(new URL(`json/invalid/${name}`, fixtures)))
      expect(() => parseJson(bytes), name).toThrow(Malformed)
    }
  })

  test('names the place of a fault', () => {
    expect(() => parseJson('{"a":1, "a":2}')).toThrow('JSON at 8: duplicate member "a"')
    expect(() => parseJson('[1,2')).toThrow('JSON at 4: array is not closed')
  })

  test('refuses more values and member names than are allowed', () => {
    for (const [text, values] of [
      ['{"a":[1,{"b":null}],"c":"d"}', 9],
      ['[[],[],{}]', 4],
      ['""', 1],
    ] as const) {
      expect(parseJson(text, { valuesMax: values })).toEqual(JSON.parse(text))
      expect(() => parseJson(text, { valuesMax: values - 1 })).toThrow('too many values')
    }
  })

  test.each(['\\n', '\\n"', '\\u00e9', '\\ud83d\\ude00', '\\\\ud800', 'é', 'a\\/'])(
    'reads a long string of %s',
    part => {
      const text = JSON.stringify({ a: 1, b: JSON.parse(`"${part.replaceAll('"', '\\"')}"`).repeat(10_000) })
      expect(parseJson(text)).toEqual(JSON.parse(text))
      const spelt = `["${part.replaceAll('"', '\\"').repeat(10_000)}"]`
      expect(parseJson(spelt)).toEqual(JSON.parse(spelt))
    },
  )

  test.each([
    ['\\ud800', 'string holds a lone surrogate'],
    ['\\x', 'escape is not one of JSON'],
    ['\\u12', 'escape is not one of JSON'],
    ['\n', 'control character in a string'],
    ['', 'string is not closed'],
  ])('refuses %j at the end of a long string', (end, fault) => {
    const text = `["${'\\na'.repeat(10_000)}${end}${end === '' ? '' : '"]'}`
    expect(() => parseJson(text)).toThrow(fault)
  })

  test('gives every value that JSON.parse gives', () => {
    fc.assert(
      fc.property(values, fc.constantFrom(undefined, 1, '\t'), (value, space) => {
        const text = JSON.stringify(value, null, space)
        if (text.includes('-0') || !text.isWellFormed()) return
        expect(parseJson(text)).toEqual(JSON.parse(text))
      }),
    )
  })

  test('accepts no text that JSON.parse refuses, and refuses only with Malformed', () => {
    const pieces = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '"a"',
      '1',
      '-',
      '0',
      'e',
      '.',
      'true',
      ' ',
      '\\u0061',
    )
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), parts => {
        const text = parts.join('')
        let ours: { value: JsonValue } | undefined
        try {
          ours = { value: parseJson(text) }
        } catch (error) {
          expect(error).toBeInstanceOf(Malformed)
        }
        if (ours !== undefined) expect(ours.value).toEqual(JSON.parse(text))
      }),
      { numRuns: 2000 },
    )
  })

  test('any bytes parse or are refused with Malformed', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), bytes => {
        try {
          parseJson(bytes)
        } catch (error) {
          expect(error).toBeInstanceOf(Malformed)
        }
      }),
    )
  })

  test('takes nesting up to the depth asked for', () => {
    expect(parseJson('[[[]]]', { depthMax: 3 })).toEqual([[[]]])
    expect(() => parseJson('[[[]]]', { depthMax: 2 })).toThrow('nested deeper than 2')
  })

  test('keeps integers beyond the safe range as a double keeps them', () => {
    expect(parseJson('9007199254740993')).toBe(9007199254740992)
  })
})

describe('canonical JSON', () => {
  test(`writes the ${pairs.length} texts of RFC 8785's test data`, () => {
    expect(pairs.length).toBe(6)
    for (const name of pairs) {
      const input = readFileSync(new URL(`vectors/${name}`, fixtures))
      const output = readFileSync(new URL(`vectors/${name.replace('input', 'output')}`, fixtures), 'utf8')
      expect(canonicalJson(parseJson(new Uint8Array(input))), name).toBe(output.trimEnd())
    }
  })

  test('is one text per value: reading and writing it again changes nothing', () => {
    fc.assert(
      fc.property(values, value => {
        if (!JSON.stringify(value).isWellFormed()) return
        const text = canonicalJson(value as JsonValue)
        expect(canonicalJson(parseJson(utf8(text)))).toBe(text)
      }),
    )
  })

  test('refuses what has no JSON form', () => {
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, '\ud800', { '\udc00': 1 }, undefined, 1n]) {
      expect(() => canonicalJson(value as never)).toThrow(Malformed)
    }
    expect(canonicalJson(-0)).toBe('0')
  })
})

test('containers stand 32 deep and no deeper', () => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
  expect(() => parseJson(nested(32))).not.toThrow()
  expect(() => parseJson(nested(33))).toThrow(Malformed)
})
