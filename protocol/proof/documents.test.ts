import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DOCUMENT_BYTES_MAX } from '../contract/limits.ts'
import { cidText, contentId } from '../crypto/hash.ts'
import { fromHex, fromUtf8, Malformed, utf8 } from '../encoding/bytes.ts'
import { checkByteFormat, fixture } from '../testing/agents.ts'
import {
  documentBytes,
  documentCid,
  emptyResult,
  parseRequestDocument,
  parseResultDocument,
  parseTextDocument,
  type RequestDocument,
  type TextDocument,
} from './documents.ts'
import { statuses } from './effect.ts'

type Valid = { text: string; cid: string }
type Invalid = { reason: string; text?: string; hex?: string }
const vectors = fixture<{
  request: { valid: Valid[]; invalid: Invalid[] }
  message: { valid: Valid[]; invalid: Invalid[] }
  result: { empty: Valid; valid: Valid[]; invalid: Invalid[] }
}>('documents/documents.json')
const bytesOfVector = ({ text, hex }: Invalid) => (hex === undefined ? utf8(text ?? '') : fromHex(hex))

describe.each([
  ['a request document', vectors.request, parseRequestDocument],
  ['a message document', vectors.message, parseTextDocument],
  ['a result document', vectors.result, parseResultDocument],
] as const)('%s', (_, { valid, invalid }, parse) => {
  test.each(valid)('is taken byte for byte: $text', ({ text, cid }) => {
    const document = parse(utf8(text))
    expect(fromUtf8(documentBytes(document as TextDocument))).toBe(text)
    expect(documentCid(utf8(text))).toBe(cid)
  })

  test.each(invalid)('is refused: $reason', vector => {
    expect(() => parse(bytesOfVector(vector))).toThrow(Malformed)
  })

  test('is refused above 768 KiB, and only there', () => {
    const name = 'text' in JSON.parse(valid[0]?.text ?? '') ? 'text' : 'task'
    const around = `{"attachments":[],"${name}":""}`.length
    const sized = (length: number) => utf8(`{"attachments":[],"${name}":"${'x'.repeat(length - around)}"}`)
    expect(() => parse(sized(DOCUMENT_BYTES_MAX))).not.toThrow()
    expect(() => parse(sized(DOCUMENT_BYTES_MAX + 1))).toThrow(Malformed)
  })

  test('is refused when it is nested deeper than 32', () => {
    expect(() => parse(utf8(`{"args":{"a":${'['.repeat(40)}${']'.repeat(40)}},"capability":"c"}`))).toThrow(
      Malformed,
    )
  })
})

describe('the result of an interaction without an answer', () => {
  test('is one fixed document', () => {
    expect(fromUtf8(documentBytes(emptyResult))).toBe(vectors.result.empty.text)
    expect(documentCid(documentBytes(emptyResult))).toBe(vectors.result.empty.cid)
  })
})

describe('a status in a result', () => {
  test.each(statuses)('%s is carried as text', status => {
    expect(parseResultDocument(utf8(`{"message":"","status":"${status}"}`))).toEqual({ message: '', status })
  })
})

describe('the three properties of a byte format hold', () => {
  const attachments = fc.array(
    fc.record({
      name: fc.string({ maxLength: 10 }),
      cid: fc.uint8Array({ maxLength: 3 }).map(bytes => cidText(contentId(bytes))),
    }),
    { maxLength: 2 },
  )
  /** What JSON can say: no minus zero, plain objects. */
  const args = fc
    .dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
    .map(value => JSON.parse(JSON.stringify(value)) as Record<string, never>)
    .filter(value => !JSON.stringify(value).includes('__proto__'))
  const request: fc.Arbitrary<RequestDocument> = fc.oneof(
    fc.record({ task: fc.string(), attachments }),
    fc.record({ capability: fc.string({ maxLength: 20 }), args }),
  )

  test('for request documents', () => {
    checkByteFormat<RequestDocument>({ encode: documentBytes, decode: parseRequestDocument }, request)
  })
  test('for message documents', () => {
    const anyCharacter = fc.constantFrom(...'aZ09 "\\/\u0000\n\u007f\u2028€\u{1f600}')
    const text: fc.Arbitrary<TextDocument> = fc.record({
      text: fc.string({ unit: anyCharacter }),
      attachments,
    })
    checkByteFormat<TextDocument>({ encode: documentBytes, decode: parseTextDocument }, text)
  })
})
