/** What a hostile sender can put under a seal that opens: everything inside is checked again. */
import { expect, test } from 'vitest'
import { sha256 } from '#crypto'
import { encryptedSize, encryptStream } from '../crypto/chunked.ts'
import { labelled } from '../crypto/hash.ts'
import { sendExport } from '../crypto/hpke.ts'
import { paddedSize } from '../crypto/padding.ts'
import { concat, fromHex, Malformed, toHex, u32be, utf8 } from '../encoding/bytes.ts'
import { encode } from '../encoding/cbor.ts'
import { agent, attachmentOf, bodyOf, fixture, NOW_MS } from '../testing/agents.ts'
import { encodeAccess } from './access.ts'
import { contextHash, encodeEnvelopeHead, latestExpMs } from './envelope.ts'
import { encodeHead, type MessageBody, signHead } from './message.ts'
import { NotOpened, openEnvelope, timesFit } from './open.ts'
import { EXPORTER_CONTEXT } from './seal.ts'

const [alice, bob, carol] = [agent('alice'), agent('bob'), agent('carol')]
const sealing = { to: bob.aid, kid: bob.kid, expMs: latestExpMs(NOW_MS), access: encodeAccess({ kind: 0 }) }
const context = contextHash(sealing)

/** An envelope for Bob around any plaintext. */
async function envelopeAround(plaintext: Uint8Array, contentDigest?: Uint8Array): Promise<Uint8Array> {
  const { enc, secret } = sendExport(bob.encryptionKey, labelled('svc-env/v1', context), EXPORTER_CONTEXT)
  const parts: Uint8Array[] = []
  for await (const part of encryptStream(secret, alice.random(24), context, [plaintext])) parts.push(part)
  const content = concat(...parts)
  const head = { ...sealing, enc, contentDigest: contentDigest ?? sha256(content) }
  return concat(encodeEnvelopeHead(head, encryptedSize(plaintext.length)), content)
}

const headOf = (body: MessageBody) => encodeHead(signHead(alice.identitySeed, body, context))

/** Length, head and attachment bytes, padded with `fill` to `length` bytes (the right number unless given). */
function plaintextOf(head: Uint8Array, attached: Uint8Array, length?: number, fill = 0): Uint8Array {
  const size = 4 + head.length + attached.length
  const padding = new Uint8Array((length ?? paddedSize(size)) - size).fill(fill)
  return concat(u32be(head.length), head, attached, padding)
}

async function openWhole(envelope: Uint8Array): Promise<Uint8Array> {
  const opened = await openEnvelope({
    source: [envelope],
    recipient: bob.aid,
    seedOf: () => bob.encryptionSeed,
    senderKey: () => alice.log.publicKey,
  })
  const parts: Uint8Array[] = []
  for await (const { chunk } of opened.parts()) parts.push(chunk.slice())
  return concat(...parts)
}

const refusal = async (plaintext: Uint8Array, digest?: Uint8Array) =>
  expect(openWhole(await envelopeAround(plaintext, digest))).rejects

const content = utf8('content')
const body = bodyOf(alice, bob, { attachments: [attachmentOf('file', content)] })

test('a well-formed plaintext opens', async () => {
  expect(await openWhole(await envelopeAround(plaintextOf(headOf(body), content)))).toEqual(content)
})

test('padding that is not zero is refused', async () => {
  await (await refusal(plaintextOf(headOf(body), content, undefined, 1))).toThrow('padding is not zero')
  const last = plaintextOf(headOf(body), content).fill(1, -1)
  await (await refusal(last)).toThrow('padding is not zero')
})

test('another length of padding is refused, so sizes stay few', async () => {
  await (await refusal(plaintextOf(headOf(body), content, 4095))).toThrow('plaintext is truncated')
  await (await refusal(plaintextOf(headOf(body), content, 8192))).toThrow('wrong padded length')
})

test('attachments with another content id, or fewer bytes than listed, are refused', async () => {
  await (await refusal(plaintextOf(headOf(body), utf8('cOntent')))).toThrow(
    'attachment 0 does not match its content id',
  )
  const long = { ...body, attachments: [{ ...attachmentOf('file', content), size: 10_000 }] }
  await (await refusal(plaintextOf(headOf(long), content))).toThrow('plaintext is truncated')
})

test('attachments that cannot fit a message are refused before they are read', async () => {
  const huge = { ...body, attachments: [{ ...attachmentOf('file', content), size: Number.MAX_SAFE_INTEGER }] }
  await (await refusal(plaintextOf(headOf(huge), content))).toThrow('exceed the size limit of a message')
})

test('a head over 1 MiB, cut short, or not a head is refused', async () => {
  await (await refusal(concat(u32be(1024 * 1024 + 1), new Uint8Array(4092)))).toThrow('over 1 MiB')
  await (await refusal(concat(u32be(5000), new Uint8Array(4092)))).toThrow('plaintext is truncated')
  await (await refusal(concat(u32be(4), new Uint8Array(4092)))).toThrow('trailing bytes after the item')
  await (await refusal(new Uint8Array(0))).toThrow('plaintext is truncated')
  await (await refusal(plaintextOf(encode([new Uint8Array(3), new Uint8Array(64)]), content))).toThrow(
    'bytes after',
  )
})

test('unsealed message head inside an envelope is refused', async () => {
  const { handleSecret: _, ...open } = body
  await (await refusal(plaintextOf(headOf(open), content))).toThrow(
    'unsealed message head inside an envelope',
  )
})

test('a head for somebody else inside an envelope for us is refused', async () => {
  const foreign = plaintextOf(headOf({ ...body, to: carol.aid }), content)
  await (await refusal(foreign)).toMatchObject({ code: 'wrong_recipient' })
})

test('content that does not have the digest of the head is refused', async () => {
  await (await refusal(plaintextOf(headOf(body), content), alice.random(32))).toThrow(
    'content does not match its digest',
  )
})

const recorded = fixture<{
  recipient: { aid: string; kid: string; encryptionSeed: string; senderKey: string }
  invalid: { reason: string; fault: string; bytes: string }[]
  times: { reason: string; expMs: number; tsMs: number; nowMs: number; fits: boolean }[]
}>('seal/envelopes.json')

test.each(recorded.invalid)('a recorded envelope is refused: $reason, $fault', async ({ bytes, fault }) => {
  const { aid, kid, encryptionSeed, senderKey } = recorded.recipient
  const opening = openEnvelope({
    source: [fromHex(bytes)],
    recipient: aid,
    seedOf: given => (toHex(given) === kid ? fromHex(encryptionSeed) : undefined),
    senderKey: () => fromHex(senderKey),
  }).then(async opened => {
    for await (const _ of opened.parts());
  })
  const found = await opening.catch(error => {
    if (error instanceof NotOpened) return error.code
    if (error instanceof Malformed) return 'malformed'
    throw error
  })
  expect(found).toBe(fault)
})

test.each(recorded.times)('a message with these times is taken or not: $reason', given => {
  expect(timesFit(given.expMs, given.tsMs, given.nowMs)).toBe(given.fits)
})
