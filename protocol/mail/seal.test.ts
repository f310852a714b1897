import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ByteSource, CHUNK_BYTES } from '../crypto/chunked.ts'
import { xwingPublicKey } from '../crypto/xwing.ts'
import { compare, concat, fromHex, Malformed, toHex, utf8 } from '../encoding/bytes.ts'
import { kidOf } from '../identity/keyset.ts'
import {
  type Agent,
  agent,
  attachmentOf,
  bodyOf,
  DAY_MS,
  fixture,
  grant,
  NOW_MS,
  seeded,
} from '../testing/agents.ts'
import { decodeAccess } from './access.ts'
import { verifyUse } from './capability.ts'
import { encodeEnvelopeHead, HOUR_MS, latestExpMs, parseEnvelopeHead } from './envelope.ts'
import type { MessageBody } from './message.ts'
import { NotOpened, type OpenedMessage, type OpenRequest, openEnvelope, timesFit } from './open.ts'
import {
  AttachmentChanged,
  fitsOneEnvelope,
  MessageTooLarge,
  type SealRequest,
  sealEnvelope,
} from './seal.ts'

const [alice, bob, carol, hub] = [agent('alice'), agent('bob'), agent('carol'), agent('hub')]
const random = seeded('seal test')

async function collect(source: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  for await (const part of source) parts.push(part)
  return concat(...parts)
}

function requestOf(
  more: Partial<SealRequest> = {},
  body: Partial<MessageBody> = {},
  to: Agent = bob,
): SealRequest {
  return {
    body: bodyOf(alice, to, body),
    identitySeed: alice.identitySeed,
    recipientKey: { kid: to.kid, publicKey: to.encryptionKey },
    expMs: latestExpMs(NOW_MS),
    credential: { kind: 0 },
    attachments: [],
    random: alice.random,
    ...more,
  }
}

function withFiles(...contents: Uint8Array[]): SealRequest {
  const attachments = contents.map((content, i) => attachmentOf(`file ${i}`, content))
  return requestOf({ attachments: contents.map(content => () => [content]) }, { attachments })
}

const bytesOf = async (request: SealRequest) => collect((await sealEnvelope(request)).stream())

const openAs = (reader: Agent, source: ByteSource, more: Partial<OpenRequest> = {}) =>
  openEnvelope({
    source,
    recipient: reader.aid,
    seedOf: kid => (compare(kid, reader.kid) === 0 ? reader.encryptionSeed : undefined),
    senderKey: () => alice.log.publicKey,
    ...more,
  })

async function filesOf(opened: OpenedMessage): Promise<Uint8Array[]> {
  const files = opened.body.attachments.map((): Uint8Array[] => [])
  for await (const { index, chunk } of opened.parts()) files[index]!.push(chunk.slice())
  return files.map(parts => concat(...parts))
}

/** Opens an envelope to its end. */
async function openWhole(
  source: ByteSource,
  more: Partial<OpenRequest> = {},
  reader = bob,
): Promise<Uint8Array[]> {
  return filesOf(await openAs(reader, source, more))
}

function* split(bytes: Uint8Array, size: number): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

type Vector = {
  recipient: string
  kid: string
  encryptionSeed: string
  senderKey: string
  digest: string
  messageDigest: string
  messageId: string
  kind: number
  attachments: string[]
  bytes: string
}
const { valid } = fixture<{ valid: Vector[] }>('seal/envelopes.json')

describe('sealed envelopes', () => {
  for (const [way, size] of [
    ['whole', Number.POSITIVE_INFINITY],
    ['split', 777],
    ['byte by byte', 1],
  ] as const) {
    test(`${valid.length} recorded envelopes open, fed ${way}`, async () => {
      for (const vector of valid) {
        const opened = await openEnvelope({
          source: split(fromHex(vector.bytes), size),
          recipient: vector.recipient,
          seedOf: kid => (toHex(kid) === vector.kid ? fromHex(vector.encryptionSeed) : undefined),
          senderKey: () => fromHex(vector.senderKey),
        })
        expect(toHex(opened.digest)).toBe(vector.digest)
        expect(toHex(opened.messageDigest)).toBe(vector.messageDigest)
        expect(toHex(opened.body.messageId)).toBe(vector.messageId)
        expect(opened.body.kind).toBe(vector.kind)
        expect((await filesOf(opened)).map(toHex)).toEqual(vector.attachments)
      }
    })
  }

  test('any attachments come back, small ones kept and large ones encrypted twice', async () => {
    const length = fc.constantFrom(0, 1, 4000, CHUNK_BYTES, 70_000, 300_000)
    await fc.assert(
      fc.asyncProperty(
        fc.array(length, { maxLength: 4 }),
        fc.constantFrom(999, 65_536),
        async (lengths, cut) => {
          const contents = lengths.map(random)
          const sealed = await sealEnvelope(withFiles(...contents))
          const bytes = await collect(sealed.stream())
          expect(bytes.length).toBe(sealed.size)
          const opened = await openAs(bob, split(bytes, cut))
          expect(opened.digest).toEqual(sealed.digest)
          expect(opened.messageDigest).toEqual(sealed.messageDigest)
          expect(await filesOf(opened)).toEqual(contents)
        },
      ),
      { numRuns: 25 },
    )
  })

  test('a stream read again gives the same bytes', async () => {
    const sealed = await sealEnvelope(withFiles(random(400_000)))
    expect(await collect(sealed.stream())).toEqual(await collect(sealed.stream()))
  })

  test('the size hides the length: texts of 10 and 2,000 bytes are sealed to the same size', async () => {
    const sizes = [10, 2000].map(
      async length => (await sealEnvelope(requestOf({}, { payload: random(length) }))).size,
    )
    expect(new Set(await Promise.all(sizes)).size).toBe(1)
  })

  test('a capability is proven for this very envelope at the recipient’s hub', async () => {
    const granted = grant(bob)
    const sealed = await sealEnvelope(requestOf({ credential: { kind: 1, granted, homeHub: hub.aid } }))
    const access = decodeAccess(sealed.head.access)
    if (access.kind !== 1) throw new Error('another kind')
    expect(verifyUse(granted.capability.body, hub.aid, sealed.digest, access.proof)).toBe(true)
    expect(verifyUse(granted.capability.body, carol.aid, sealed.digest, access.proof)).toBe(false)
    const other = await sealEnvelope(requestOf({ credential: { kind: 1, granted, homeHub: hub.aid } }))
    expect(verifyUse(granted.capability.body, hub.aid, other.digest, access.proof)).toBe(false)
    await openWhole(sealed.stream())
  })

  test('what does not fit one envelope is refused before anything is read', async () => {
    const cid = attachmentOf('', new Uint8Array(0)).cid
    const large = { name: 'x', mediaType: 'x', size: 95 * 1024 * 1024, cid }
    await expect(sealEnvelope(requestOf({}, { attachments: [large] }))).rejects.toThrow(MessageTooLarge)
    expect(fitsOneEnvelope(1024 * 1024, [64 * 1024 * 1024])).toBe(true)
    expect(fitsOneEnvelope(1024 * 1024 + 1, [])).toBe(false)
  })
})

describe('an attachment that changes under the seal', () => {
  test('is refused when its bytes are not what its entry says', async () => {
    const faulty: Uint8Array[] = [utf8('other'), utf8('conten'), utf8('contents'), new Uint8Array(0)]
    for (const content of faulty) {
      const request = withFiles(utf8('content'))
      await expect(sealEnvelope({ ...request, attachments: [() => [content]] })).rejects.toThrow(
        AttachmentChanged,
      )
    }
    await expect(sealEnvelope({ ...withFiles(utf8('content')), attachments: [] })).rejects.toThrow(
      AttachmentChanged,
    )
  })

  test('stops the stream before a nonce is used for a second plaintext', async () => {
    const content = random(400_000)
    let current = content
    const request = { ...withFiles(content), attachments: [() => [current]] }
    const sealed = await sealEnvelope(request)
    const good = await collect(sealed.stream())
    current = content.slice()
    current[250_000] = current[250_000]! ^ 1
    const emitted: Uint8Array[] = []
    await expect(async () => {
      for await (const part of sealed.stream()) emitted.push(part)
    }).rejects.toThrow(AttachmentChanged)
    const bytes = concat(...emitted)
    expect(bytes).toEqual(good.subarray(0, bytes.length))
    expect(bytes.length).toBeLessThan(good.length - 100_000)
  })
})

describe('refused envelopes', () => {
  test('another recipient, an unknown kid, an unknown sender and a foreign signature are named', async () => {
    const bytes = await bytesOf(requestOf())
    const cases: [Promise<unknown>, string][] = [
      [openAs(carol, [bytes]), 'wrong_recipient'],
      [openAs(bob, [bytes], { seedOf: () => undefined }), 'unknown_kid'],
      [openAs(bob, [bytes], { senderKey: () => undefined }), 'sender_unknown'],
      [openAs(bob, [bytes], { senderKey: async () => carol.log.publicKey }), 'bad_signature'],
    ]
    for (const [opening, reason] of cases)
      await expect(opening).rejects.toMatchObject({ name: 'NotOpened', code: reason })
  })

  test('a message sealed again to somebody else is refused: the signature covers the recipient', async () => {
    const body = bodyOf(alice, bob)
    const original = await sealEnvelope(requestOf({ body }))
    const opened = await openAs(bob, original.stream())
    // Bob, who holds the signed head, seals it to Carol: the head still says "to Bob".
    const resealed = await bytesOf({
      ...requestOf({}, {}, carol),
      body: { ...opened.body, to: carol.aid },
      identitySeed: bob.identitySeed,
    })
    await expect(openAs(carol, [resealed])).rejects.toMatchObject({ code: 'bad_signature' })
  })

  test('a head that names another recipient than the envelope is refused', async () => {
    const sealed = await bytesOf({
      ...requestOf({}, {}, carol),
      recipientKey: { kid: bob.kid, publicKey: bob.encryptionKey },
    })
    const parsed = parseEnvelopeHead(sealed)
    if (parsed === 'more') throw new Error('head expected')
    const head = encodeEnvelopeHead({ ...parsed.head, to: bob.aid }, parsed.contentLength)
    const swapped = concat(head, sealed.subarray(parsed.contentOffset))
    await expect(openAs(bob, [swapped])).rejects.toThrow(Malformed)
  })

  test('a credential swapped for another capability, or for none, is refused', async () => {
    const [granted, other] = [grant(bob), grant(bob)]
    const sealed = await sealEnvelope(requestOf({ credential: { kind: 1, granted, homeHub: hub.aid } }))
    const foreign = await sealEnvelope(
      requestOf({ credential: { kind: 1, granted: other, homeHub: hub.aid } }),
    )
    const none = await sealEnvelope(requestOf())
    const bytes = await collect(sealed.stream())
    const parsed = parseEnvelopeHead(bytes)
    if (parsed === 'more') throw new Error('head expected')
    const content = bytes.subarray(parsed.contentOffset)
    for (const { access } of [foreign.head, none.head]) {
      const swapped = concat(encodeEnvelopeHead({ ...sealed.head, access }, parsed.contentLength), content)
      await expect(openAs(bob, [swapped])).rejects.toThrow(Malformed)
    }
    const proofless = sealed.head.access.slice().fill(0, -64)
    const unproven = concat(
      encodeEnvelopeHead({ ...sealed.head, access: proofless }, parsed.contentLength),
      content,
    )
    await openWhole([unproven])
  })

  test('a bit flipped anywhere is refused', async () => {
    const bytes = await bytesOf(withFiles(random(20_000)))
    const proofless = new Set(['wrong_recipient', 'unknown_kid'])
    await fc.assert(
      fc.asyncProperty(fc.nat(bytes.length * 8 - 1), async bit => {
        const damaged = bytes.slice()
        damaged[bit >> 3] = damaged[bit >> 3]! ^ (1 << (bit & 7))
        const error = await openWhole([damaged]).then(
          () => undefined,
          (reason: unknown) => reason,
        )
        expect(error instanceof Malformed || (error instanceof NotOpened && proofless.has(error.code))).toBe(
          true,
        )
      }),
      { numRuns: 150 },
    )
  })

  test('every kind of cut, bytes after the end and swapped chunks are refused', async () => {
    const bytes = await bytesOf(withFiles(random(60_000)))
    const parsed = parseEnvelopeHead(bytes)
    if (parsed === 'more') throw new Error('head expected')
    const start = parsed.contentOffset + 56
    const sealedChunk = CHUNK_BYTES + 16
    for (const end of [0, 1, 100, parsed.contentOffset, start, start + sealedChunk, bytes.length - 1]) {
      await expect(openWhole([bytes.subarray(0, end)]), `cut at ${end}`).rejects.toThrow(Malformed)
    }
    await expect(openWhole([bytes, new Uint8Array(1)])).rejects.toThrow(Malformed)
    const [first, second] = [
      bytes.slice(start, start + sealedChunk),
      bytes.slice(start + sealedChunk, start + 2 * sealedChunk),
    ]
    const swapped = concat(bytes.subarray(0, start), second, first, bytes.subarray(start + 2 * sealedChunk))
    await expect(openWhole([swapped])).rejects.toThrow(Malformed)
  })

  test('no byte of an attachment is given out before the signature is settled', async () => {
    let settled = false
    const bytes = await bytesOf(withFiles(random(1000)))
    const opened = await openAs(bob, [bytes], {
      senderKey: () => {
        settled = true
        return alice.log.publicKey
      },
    })
    expect(settled).toBe(true)
    await filesOf(opened)
  })

  test('the source is let go of when an envelope is refused or left half read', async () => {
    let open = 0
    const bytes = await bytesOf(withFiles(random(100_000)))
    async function* source() {
      open++
      try {
        yield* split(bytes, 5000)
      } finally {
        open--
      }
    }
    await expect(openAs(carol, source())).rejects.toThrow(NotOpened)
    await expect(openAs(bob, source(), { senderKey: () => undefined })).rejects.toThrow(NotOpened)
    for await (const _ of (await openAs(bob, source())).parts()) break
    expect(open).toBe(0)
  })
})

describe('times', () => {
  test('an envelope is taken until an hour after its expiry, and a sealing time within its 14 days', () => {
    const exp = latestExpMs(NOW_MS)
    expect(timesFit(exp, NOW_MS, NOW_MS)).toBe(true)
    expect(timesFit(exp, NOW_MS, exp + HOUR_MS)).toBe(true)
    expect(timesFit(exp, NOW_MS, exp + HOUR_MS + 1)).toBe(false)
    expect(timesFit(exp, NOW_MS + 5 * 60_000, NOW_MS)).toBe(true)
    expect(timesFit(exp, NOW_MS + 5 * 60_000 + 1, NOW_MS)).toBe(false)
    expect(timesFit(exp, exp - 14 * DAY_MS - HOUR_MS, NOW_MS)).toBe(true)
    expect(timesFit(exp, exp - 14 * DAY_MS - HOUR_MS - 1, NOW_MS)).toBe(false)
  })

  test('a kid names one key', () => {
    expect(toHex(kidOf(xwingPublicKey(bob.encryptionSeed)))).toBe(toHex(bob.kid))
  })
})
