import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fromHex, Malformed, toHex, utf8 } from '../encoding/bytes.ts'
import { encode } from '../encoding/cbor.ts'
import { agent, attachmentOf, bodyOf, checkByteFormat, fixture, grant } from '../testing/agents.ts'
import { decodeHead, encodeHead, messageDigest, signHead } from './message.ts'
import { decodeOpen, encodeOpen, holdsOpen, signOpen } from './open-message.ts'

type Valid = { bytes: string; publicKey: string; messageDigest: string; attachments: string[] }
const { valid, invalid, unsigned } = fixture<{
  valid: Valid[]
  invalid: { bytes: string; reason: string }[]
  unsigned: { bytes: string; publicKey: string; reason: string }[]
}>('open/messages.json')
const [alice, bob] = [agent('alice'), agent('bob')]

const openBody = (more: Parameters<typeof bodyOf>[2] = {}) => {
  const { capabilities: _, handleSecret: __, kel: ___, keySet: ____, ...body } = bodyOf(alice, bob, more)
  return body
}

describe('open messages', () => {
  test(`${valid.length} valid messages decode, verify and have the digest of their vectors`, () => {
    for (const vector of valid) {
      const message = decodeOpen(fromHex(vector.bytes))
      expect(toHex(encodeOpen(message))).toBe(vector.bytes)
      expect(holdsOpen(fromHex(vector.publicKey), message)).toBe(true)
      expect(toHex(messageDigest(message.body))).toBe(vector.messageDigest)
      expect(message.attachments.map(toHex)).toEqual(vector.attachments)
    }
  })

  test(`${invalid.length} malformed messages are refused`, () => {
    for (const { bytes, reason } of invalid)
      expect(() => decodeOpen(fromHex(bytes)), reason).toThrow(Malformed)
  })

  test(`${unsigned.length} messages hold under no signature of theirs`, () => {
    for (const { bytes, publicKey, reason } of unsigned)
      expect(holdsOpen(fromHex(publicKey), decodeOpen(fromHex(bytes))), reason).toBe(false)
  })

  test('a head that was sealed is none, nor is an open one sealed', () => {
    const context = alice.random(32)
    const sealed = signHead(alice.identitySeed, openBody(), context)
    const taken = encode([sealed.bodyBytes, sealed.signature, []])
    expect(holdsOpen(alice.log.publicKey, decodeOpen(taken))).toBe(false)
    expect(() => decodeOpen(encodeHead(sealed))).toThrow(Malformed)
    expect(() => decodeHead(encodeOpen(signOpen(alice.identitySeed, openBody(), [])))).toThrow(Malformed)
  })

  test('nothing is signed that a reader would refuse', () => {
    const sign = (body: Parameters<typeof signOpen>[1], files: Uint8Array[] = []) =>
      signOpen(alice.identitySeed, body, files)
    const attachments = [attachmentOf('a', utf8('x'))]
    expect(() => sign({ ...openBody(), handleSecret: alice.random(32) })).toThrow(Malformed)
    expect(() => sign({ ...openBody(), capabilities: [grant(alice)] })).toThrow(Malformed)
    expect(() => sign({ ...openBody(), kel: [...alice.log.events] })).toThrow(Malformed)
    expect(() => sign({ ...openBody(), keySet: alice.keySet })).toThrow(Malformed)
    expect(() => sign(openBody({ attachments }))).toThrow(Malformed)
    expect(() => sign(openBody({ attachments }), [utf8('y')])).toThrow(Malformed)
    expect(() => sign(openBody({ attachments }), [utf8('x'), utf8('x')])).toThrow(Malformed)
    expect(holdsOpen(alice.log.publicKey, sign(openBody({ attachments }), [utf8('x')]))).toBe(true)
  })

  test('the three properties of a byte format hold', () => {
    const files = fc.array(fc.uint8Array({ maxLength: 8 }), { maxLength: 3 })
    const messages = fc.tuple(fc.nat(9), files).map(([number, contents]) => {
      const attachments = contents.map((content, at) => attachmentOf(`${at}`, content))
      return signOpen(alice.identitySeed, openBody({ number, attachments }), contents)
    })
    checkByteFormat({ encode: encodeOpen, decode: decodeOpen }, messages, 50)
  })
})
