/**
 * Sealing (objects: sealed envelope): one message and its attachments become one envelope, as a stream of constant
 * memory. The hash of the content stands before the content, so a large content is encrypted twice: once to hash it,
 * once to send it. No second copy of the plaintext ever lies on disk, and nothing has to be cleaned up after a crash.
 */
import { release, sha256, sha256Stream } from '#crypto'
import {
  type ByteSource,
  CHUNK_BYTES,
  encryptedSize,
  encryptStream,
  SALT_BYTES,
  TAG_BYTES,
} from '../crypto/chunked.ts'
import { contentIdOfDigest, labelled } from '../crypto/hash.ts'
import { sendExport } from '../crypto/hpke.ts'
import { PLAINTEXT_BYTES_MAX, paddedSize } from '../crypto/padding.ts'
import { SIGNATURE_BYTES } from '../crypto/signed.ts'
import { concat, equal, u32be, utf8 } from '../encoding/bytes.ts'
import { Failure, Refusal } from '../encoding/errors.ts'
import { type Access, encodeAccess } from './access.ts'
import { type GrantedCapability, proveUse } from './capability.ts'
import {
  contextHash,
  type EnvelopeCore,
  type EnvelopeHead,
  encodeEnvelopeHead,
  envelopeDigest,
} from './envelope.ts'
import {
  type Attachment,
  encodeHead,
  HEAD_BYTES_MAX,
  type MessageBody,
  messageDigest,
  signHead,
} from './message.ts'

/** Exporter context of HPKE from which the content key is made, objects §6. */
export const EXPORTER_CONTEXT = utf8('svc-content/v1')
/** Contents up to this size are kept as they were hashed instead of being encrypted again. */
const KEPT_BYTES_MAX = 256 * 1024
const ZEROS = new Uint8Array(CHUNK_BYTES)

/** A stranger's envelope under a session, or one under a capability, used at the recipient's home hub. */
export type Credential = { kind: 0 } | { kind: 1; granted: GrantedCapability; homeHub: string }

/** `identitySeed` of 32 bytes, `kid` of 8, `publicKey` of 1,216, `expMs` in Unix ms (objects §6). */
export type SealRequest = {
  body: MessageBody
  identitySeed: Uint8Array
  recipientKey: { kid: Uint8Array; publicKey: Uint8Array }
  /** A whole hour, see `latestExpMs`. */
  expMs: number
  credential: Credential
  /** The bytes of every attachment in list order; each is read once or twice from its start. */
  attachments: readonly (() => ByteSource)[]
  random: (length: number) => Uint8Array
}

/** `digest` and `messageDigest` have 32 bytes (objects §6, §7). */
export type SealedEnvelope = {
  head: EnvelopeHead
  digest: Uint8Array
  messageDigest: Uint8Array
  /** Bytes of the whole envelope. */
  size: number
  /** The envelope's bytes; may be read again, and then gives the same bytes or fails. */
  stream(): AsyncGenerator<Uint8Array, void, undefined>
}

/** An attachment's bytes are not, or no longer, what its entry says. */
export class AttachmentChanged extends Failure {
  override name = 'AttachmentChanged'
  readonly index: number
  constructor(index: number) {
    super(`attachment ${index} is not what its entry says`)
    this.index = index
  }
}

/** What does not fit one envelope goes as further messages, one attachment each. */
export class MessageTooLarge extends Refusal<'too_large'> {
  override name = 'MessageTooLarge'
  constructor(sentence: string) {
    super('too_large', sentence)
  }
}

type Content = { key: Uint8Array; salt: Uint8Array; context: Uint8Array; plaintext: () => ByteSource }

/** Seals a message; its attachments are read once now and, when large, once more by `stream`. */
export async function sealEnvelope(request: SealRequest): Promise<SealedEnvelope> {
  const { body, credential } = request
  if (body.handleSecret === undefined) throw new TypeError('a sealed head needs a handle secret')
  const { kid, publicKey } = request.recipientKey
  const sealing = { to: body.to, kid, expMs: request.expMs }
  // The context leaves the proof out, so any 64 bytes may stand in its place until the digest is known.
  const context = contextHash({ ...sealing, access: accessOf(credential, new Uint8Array(SIGNATURE_BYTES)) })
  const head = encodeHead(signHead(request.identitySeed, body, context))
  const length = plaintextLength(head.length, body.attachments)
  const { enc, secret } = sendExport(publicKey, labelled('svc-env/v1', context), EXPORTER_CONTEXT)
  const content: Content = {
    key: secret,
    salt: request.random(SALT_BYTES),
    context,
    plaintext: () => plaintextOf(head, body.attachments, request.attachments, length),
  }
  const hashed = await hashContent(content, encryptedSize(length))
  const core: EnvelopeCore = { ...sealing, enc, contentDigest: hashed.digest }
  const digest = envelopeDigest(core)
  const proof =
    credential.kind === 0
      ? new Uint8Array(SIGNATURE_BYTES)
      : proveUse(credential.granted.holderSeed, credential.homeHub, digest)
  const outer: EnvelopeHead = { ...core, access: accessOf(credential, proof) }
  const headBytes = encodeEnvelopeHead(outer, encryptedSize(length))
  return {
    head: outer,
    digest,
    messageDigest: messageDigest(body),
    size: headBytes.length + encryptedSize(length),
    stream: () => envelopeStream(headBytes, content, hashed),
  }
}

/** Whether a head of `headLength` bytes and attachments of these sizes fit one envelope. */
export function fitsOneEnvelope(headLength: number, sizes: readonly number[]): boolean {
  const length = sizes.reduce((sum, size) => sum + size, 4 + headLength)
  return headLength <= HEAD_BYTES_MAX && paddedSize(length) <= PLAINTEXT_BYTES_MAX
}

function plaintextLength(headLength: number, attachments: readonly Attachment[]): number {
  const sizes = attachments.map(attachment => attachment.size)
  if (!fitsOneEnvelope(headLength, sizes)) throw new MessageTooLarge('message does not fit one envelope')
  return paddedSize(sizes.reduce((sum, size) => sum + size, 4 + headLength))
}

function accessOf(credential: Credential, proof: Uint8Array): Uint8Array {
  if (credential.kind === 0) return encodeAccess({ kind: 0 })
  const { bodyBytes, signature } = credential.granted.capability
  const access: Access = { kind: 1, capabilityBody: bodyBytes, capabilitySignature: signature, proof }
  return encodeAccess(access)
}

/** Length, head, attachments and zeros; refuses an attachment whose bytes do not match its entry. */
async function* plaintextOf(
  head: Uint8Array,
  attachments: readonly Attachment[],
  sources: readonly (() => ByteSource)[],
  length: number,
): AsyncGenerator<Uint8Array> {
  yield concat(u32be(head.length), head)
  let rest = length - 4 - head.length
  for (const [index, attachment] of attachments.entries()) {
    const hash = sha256Stream()
    let size = 0
    for await (const part of sources[index]?.() ?? []) {
      size += part.length
      if (size > attachment.size) throw new AttachmentChanged(index)
      hash.update(part)
      yield part
    }
    if (size !== attachment.size || !equal(contentIdOfDigest(hash.digest()), attachment.cid))
      throw new AttachmentChanged(index)
    rest -= size
  }
  for (; rest > 0; rest -= ZEROS.length) yield rest < ZEROS.length ? ZEROS.subarray(0, rest) : ZEROS
}

type Hashed = { digest: Uint8Array; tags: Uint8Array[]; kept: Uint8Array | undefined }

async function hashContent(content: Content, size: number): Promise<Hashed> {
  const kept: Uint8Array[] = []
  const tags: Uint8Array[] = []
  const hash = sha256Stream()
  for await (const piece of encryptStream(content.key, content.salt, content.context, content.plaintext())) {
    if (size <= KEPT_BYTES_MAX) kept.push(piece)
    else {
      hash.update(piece)
      tags.push(piece.slice(-TAG_BYTES))
      release(piece)
    }
  }
  if (size > KEPT_BYTES_MAX) return { digest: hash.digest(), tags, kept: undefined }
  const whole = concat(...kept)
  return { digest: sha256(whole), tags, kept: whole }
}

/**
 * A nonce may be used for one plaintext only. A source that changed between two reads would break that, so a chunk
 * leaves this machine only with the tag it had when it was hashed.
 */
async function* envelopeStream(
  head: Uint8Array,
  content: Content,
  hashed: Hashed,
): AsyncGenerator<Uint8Array, void, undefined> {
  yield head
  if (hashed.kept !== undefined) {
    yield hashed.kept
    return
  }
  let index = 0
  for await (const piece of encryptStream(content.key, content.salt, content.context, content.plaintext())) {
    if (!equal(piece.subarray(-TAG_BYTES), hashed.tags[index++] ?? ZEROS)) throw new AttachmentChanged(-1)
    yield piece
  }
}
