import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sha256 } from '#crypto'
import { fromHex, Malformed, toHex, utf8 } from '../encoding/bytes.ts'
import { documentBytes } from '../proof/documents.ts'
import { MESSAGES_MAX } from '../proof/receipt.ts'
import {
  agent,
  anyAid,
  anyUint,
  attachmentOf,
  bodyOf,
  bytesOf,
  checkByteFormat,
  fixture,
  grant,
  NOW_MS,
} from '../testing/agents.ts'
import {
  decodeHead,
  encodeHead,
  headHolds,
  MessageBody,
  messageDigest,
  messagePayload,
  signHead,
} from './message.ts'
import { encodePayload, kinds } from './payload.ts'

type Valid = { body: string; messageDigest: string; context: string; publicKey: string; head: string }
const { valid, invalid } = fixture<{ valid: Valid[]; invalid: { head: string; reason: string }[] }>(
  'seal/messages.json',
)
const [alice, bob] = [agent('alice'), agent('bob')]
const context = sha256(utf8('context'))

describe('message heads', () => {
  test(`${valid.length} valid heads decode, verify and have the digest of their vectors`, () => {
    for (const vector of valid) {
      const head = decodeHead(fromHex(vector.head))
      expect(toHex(MessageBody.encode(head.body))).toBe(vector.body)
      expect(toHex(encodeHead(head))).toBe(vector.head)
      expect(toHex(messageDigest(head.body))).toBe(vector.messageDigest)
      expect(headHolds(fromHex(vector.publicKey), head, fromHex(vector.context))).toBe(true)
      expect(() => messagePayload(head.body)).not.toThrow()
    }
  })

  test(`${invalid.length} malformed heads are refused`, () => {
    for (const { head, reason } of invalid) expect(() => decodeHead(fromHex(head)), reason).toThrow(Malformed)
  })

  test('a signature holds for its sender, its body and its sealing context only', () => {
    const head = signHead(alice.identitySeed, bodyOf(alice, bob), context)
    const other = MessageBody.encode({ ...head.body, number: 2 })
    expect(headHolds(alice.log.publicKey, head, context)).toBe(true)
    expect(headHolds(bob.log.publicKey, head, context)).toBe(false)
    expect(headHolds(alice.log.publicKey, head, sha256(context))).toBe(false)
    expect(headHolds(alice.log.publicKey, { ...head, bodyBytes: other }, context)).toBe(false)
  })

  test('the message digest stays when a message is sealed again, and changes with what was said', () => {
    const body = bodyOf(alice, bob, { attachments: [attachmentOf('a', utf8('x'))] })
    const again: Partial<MessageBody> = {
      tsMs: NOW_MS + 1,
      kelSeq: 1,
      storedUpTo: 9,
      kelHeadDigest: alice.random(32),
      capabilities: [grant(alice)],
      keySet: alice.keySet,
      kel: [...alice.log.events],
    }
    const digest = toHex(messageDigest(body))
    expect(toHex(messageDigest({ ...body, ...again }))).toBe(digest)
    const changes: Partial<MessageBody>[] = [
      { from: bob.aid },
      { to: alice.aid },
      { messageId: alice.random(16) },
      { kind: kinds.message },
      { interactionId: alice.random(16) },
      { number: 2 },
      { payload: utf8('x') },
      { attachments: [] },
      { attachments: [attachmentOf('b', utf8('x'))] },
      { attachments: [attachmentOf('a', utf8('y'))] },
    ]
    const digests = changes.map(change => toHex(messageDigest({ ...body, ...change })))
    expect(new Set([digest, ...digests]).size).toBe(changes.length + 1)
  })

  test('kind, interaction and number must agree', () => {
    const end = (number: number, named: number) =>
      bodyOf(alice, bob, {
        kind: kinds.end,
        number,
        payload: encodePayload(kinds.end, { number: named, peerHighest: 0, missing: [] }),
      })
    const empty = encodePayload(kinds.capabilities, {})
    const { interactionId: _, ...outside } = bodyOf(alice, bob, {
      kind: kinds.capabilities,
      number: 0,
      payload: empty,
    })
    expect(messagePayload(end(3, 3)).kind).toBe(kinds.end)
    expect(messagePayload(outside).kind).toBe(kinds.capabilities)
    const document = documentBytes({ text: 'x', attachments: [] })
    const said = bodyOf(alice, bob, {
      kind: kinds.message,
      number: MESSAGES_MAX,
      payload: encodePayload(kinds.message, { document }),
    })
    expect(messagePayload(said).kind).toBe(kinds.message)
    expect(messagePayload({ ...said, storedUpTo: MESSAGES_MAX }).kind).toBe(kinds.message)
    const faulty: MessageBody[] = [
      end(3, 2),
      end(0, 0),
      bodyOf(alice, bob, { number: 2 }),
      bodyOf(alice, bob, { number: 0 }),
      bodyOf(alice, bob, { kind: kinds.capabilities, number: 0, payload: empty }),
      { ...outside, number: 1 },
      { ...outside, kind: kinds.message },
      bodyOf(alice, bob, { kind: 12 }),
      bodyOf(alice, bob, { storedUpTo: MESSAGES_MAX + 1 }),
      { ...said, number: MESSAGES_MAX + 1 },
    ]
    for (const body of faulty) expect(() => messagePayload(body)).toThrow(Malformed)
  })

  test('the three properties of a byte format hold', () => {
    const grants = [grant(alice), grant(bob)]
    const attachment = fc.record({
      name: fc.string({ maxLength: 20 }),
      mediaType: fc.constant('text/plain'),
      size: anyUint,
      cid: fc.uint8Array({ maxLength: 4 }).map(content => attachmentOf('', content).cid),
    })
    const body = fc.record(
      {
        v: fc.constant(1 as const),
        from: anyAid,
        kelSeq: anyUint,
        to: anyAid,
        messageId: bytesOf(16),
        tsMs: anyUint,
        kind: fc.nat(13),
        interactionId: bytesOf(16),
        number: anyUint,
        storedUpTo: anyUint,
        payload: fc.uint8Array(),
        capabilities: fc.subarray(grants, { minLength: 1 }),
        kelHeadDigest: bytesOf(32),
        handleSecret: bytesOf(32),
        attachments: fc.array(attachment, { maxLength: 3 }),
        kel: fc.constant([...alice.log.events]),
        keySet: fc.constant(alice.keySet),
      },
      {
        requiredKeys: [
          'v',
          'from',
          'kelSeq',
          'to',
          'messageId',
          'tsMs',
          'kind',
          'number',
          'storedUpTo',
          'payload',
          'kelHeadDigest',
          'attachments',
        ],
      },
    )
    checkByteFormat<MessageBody>(MessageBody, body as fc.Arbitrary<MessageBody>)
  })
})
