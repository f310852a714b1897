/**
 * Opening (objects: sealed envelope): the envelope is read as a stream of constant memory. Recipient, context and the
 * sender's signature are settled on the head before the first byte of an attachment is given out.
 */
import { sha256Stream } from '#crypto'
import { type ByteSource, decryptStream } from '../crypto/chunked.ts'
import { contentIdOfDigest, labelled } from '../crypto/hash.ts'
import { receiveExport } from '../crypto/hpke.ts'
import { PLAINTEXT_BYTES_MAX, paddedSize } from '../crypto/padding.ts'
import { equal, Malformed } from '../encoding/bytes.ts'
import { Refusal } from '../encoding/errors.ts'
import {
  contextHash,
  type EnvelopeHead,
  EXP_AHEAD_MS,
  envelopeDigest,
  HOUR_MS,
  type ParsedEnvelope,
  parseEnvelopeHead,
} from './envelope.ts'
import { decodeHead, HEAD_BYTES_MAX, headHolds, type MessageBody, messageDigest } from './message.ts'
import { EXPORTER_CONTEXT } from './seal.ts'

const TS_AHEAD_MAX_MS = 5 * 60_000

/** `recipient` is an AID; a seed and the key of the sender have 32 bytes (objects §6). */
export type OpenRequest = {
  source: ByteSource
  recipient: string
  /** The private key of a kid, as long as it is kept. */
  seedOf: (kid: Uint8Array) => Uint8Array | undefined
  /** The sender's key at the KEL seq of the body, from the log held or from the body's own. */
  senderKey: (body: MessageBody) => Uint8Array | undefined | Promise<Uint8Array | undefined>
}

/** A message whose head is verified; `digest` and `messageDigest` have 32 bytes (objects §6, §7). */
export type OpenedMessage = {
  envelope: EnvelopeHead
  digest: Uint8Array
  body: MessageBody & { handleSecret: Uint8Array }
  messageDigest: Uint8Array
  /**
   * The attachments' bytes in list order; a chunk holds until the next is asked for. Must be read to its end: sizes,
   * content ids, padding and the hash of the whole content are settled only there.
   */
  parts(): AsyncGenerator<{ index: number; chunk: Uint8Array }, void, undefined>
  /** Lets go of the source, also where the attachments were not asked for. */
  close(): Promise<void>
}

/** Why an envelope was not opened; `wrong_recipient` is of the envelope or of its head (objects §6). */
export type NotOpenedReason = 'wrong_recipient' | 'unknown_kid' | 'sender_unknown' | 'bad_signature'

/** A well-formed envelope that this node cannot take; `body` is what the head claims, unverified. */
export class NotOpened extends Refusal<NotOpenedReason> {
  override name = 'NotOpened'
  readonly envelopeDigest: Uint8Array
  readonly body: MessageBody | undefined
  constructor(reason: NotOpenedReason, digest: Uint8Array, body?: MessageBody) {
    super(reason, `envelope not opened: ${reason.replaceAll('_', ' ')}`)
    this.envelopeDigest = digest
    this.body = body
  }
}

/** Bytes that are not those of the envelope that a hub took: a hub checks form and hash before it takes one. */
export class Damaged extends Malformed {
  override name = 'Damaged'
}

/** Opens an envelope up to its verified head; throws {@link NotOpened}, {@link Malformed} or {@link Damaged}. */
export async function openEnvelope(request: OpenRequest): Promise<OpenedMessage> {
  const envelope = new Envelope(request.source)
  try {
    return await openHead(request, envelope)
  } catch (error) {
    const thrown = await envelope.blame(error)
    await envelope.close()
    throw thrown
  }
}

async function openHead(request: OpenRequest, envelope: Envelope): Promise<OpenedMessage> {
  const { head } = await envelope.head()
  const digest = envelopeDigest(head)
  if (head.to !== request.recipient) throw new NotOpened('wrong_recipient', digest)
  const seed = request.seedOf(head.kid)
  if (seed === undefined) throw new NotOpened('unknown_kid', digest)
  const context = contextHash(head)
  const key = receiveExport(seed, head.enc, labelled('svc-env/v1', context), EXPORTER_CONTEXT)
  const plain = new Plaintext(decryptStream(key, context, envelope.content()))
  const length = new DataView((await plain.take(4)).buffer).getUint32(0)
  if (length > HEAD_BYTES_MAX) throw new Malformed('message head is over 1 MiB')
  const message = decodeHead(await plain.take(length))
  const { body } = message
  const { handleSecret } = body
  if (handleSecret === undefined) throw new Malformed('unsealed message head inside an envelope')
  if (body.to !== request.recipient) throw new NotOpened('wrong_recipient', digest, body)
  const senderKey = await request.senderKey(body)
  if (senderKey === undefined) throw new NotOpened('sender_unknown', digest, body)
  if (!headHolds(senderKey, message, context)) throw new NotOpened('bad_signature', digest, body)
  return {
    envelope: head,
    digest,
    body: { ...body, handleSecret },
    messageDigest: messageDigest(body),
    parts: () => attachmentParts(envelope, plain, body, length),
    close: () => envelope.close(),
  }
}

/** Whether expiry and time of sealing are such that a receiver may take the message (objects: receiver). */
export function timesFit(expMs: number, tsMs: number, nowMs: number): boolean {
  return expMs >= nowMs - HOUR_MS && tsMs >= expMs - EXP_AHEAD_MS - HOUR_MS && tsMs <= nowMs + TS_AHEAD_MAX_MS
}

async function* attachmentParts(
  envelope: Envelope,
  plain: Plaintext,
  body: MessageBody,
  headLength: number,
): AsyncGenerator<{ index: number; chunk: Uint8Array }, void, undefined> {
  try {
    let length = 4 + headLength
    for (const [index, attachment] of body.attachments.entries()) {
      length += attachment.size
      if (length > PLAINTEXT_BYTES_MAX) throw new Malformed('attachments exceed the size limit of a message')
      const hash = sha256Stream()
      for (let rest = attachment.size; rest > 0; ) {
        const chunk = await plain.some(rest)
        hash.update(chunk)
        rest -= chunk.length
        yield { index, chunk }
      }
      if (!equal(contentIdOfDigest(hash.digest()), attachment.cid))
        throw new Malformed(`attachment ${index} does not match its content id`)
    }
    await plain.endAfterZeros(paddedSize(length) - length)
  } catch (error) {
    throw await envelope.blame(error)
  } finally {
    await envelope.close()
  }
}

/** The bytes of an envelope: its head, then its content, hashed as it passes. */
class Envelope {
  readonly #source: AsyncIterator<Uint8Array> | Iterator<Uint8Array>
  readonly #hash = sha256Stream()
  #received: Uint8Array = new Uint8Array(0)
  #parsed: ParsedEnvelope | undefined
  /** Bytes of the content that are still to come, once it is read. */
  #rest = 0
  #isWhole = false

  constructor(source: ByteSource) {
    this.#source = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]()
  }

  async head(): Promise<ParsedEnvelope> {
    for (;;) {
      const parsed = parseEnvelopeHead(this.#received)
      if (parsed !== 'more') {
        this.#parsed = parsed
        return parsed
      }
      const next = await this.#source.next()
      if (next.done === true) throw new Malformed('envelope is truncated')
      if (this.#received.length === 0) {
        this.#received = next.value
        continue
      }
      const joined = new Uint8Array(this.#received.length + next.value.length)
      joined.set(this.#received)
      joined.set(next.value, this.#received.length)
      this.#received = joined
    }
  }

  async *content(): AsyncGenerator<Uint8Array> {
    const { contentOffset, contentLength } = this.#parsed as ParsedEnvelope
    this.#rest = contentLength
    let piece = this.#received.subarray(contentOffset)
    for (;;) {
      this.#take(piece)
      if (piece.length > 0) yield piece
      const next = await this.#source.next()
      if (next.done === true) break
      piece = next.value
    }
    this.#requireWhole()
  }

  /** What a fault comes from: content that is read to its end and is not what its head says was damaged on its way. */
  async blame(fault: unknown): Promise<unknown> {
    if (!(fault instanceof Malformed) || fault instanceof Damaged || this.#isWhole) return fault
    if (this.#parsed === undefined) return new Damaged(fault.message)
    try {
      for (let next = await this.#source.next(); next.done !== true; next = await this.#source.next())
        this.#take(next.value)
      this.#requireWhole()
    } catch (error) {
      return error
    }
    return fault
  }

  #take(piece: Uint8Array): void {
    this.#rest -= piece.length
    if (this.#rest < 0) throw new Damaged('trailing bytes after the envelope')
    this.#hash.update(piece)
  }

  #requireWhole(): void {
    const { head } = this.#parsed as ParsedEnvelope
    if (this.#rest > 0) throw new Damaged('envelope is truncated')
    if (!equal(this.#hash.digest(), head.contentDigest))
      throw new Damaged('content does not match its digest')
    this.#isWhole = true
  }

  /** Lets go of the source, also where it was not read to its end. */
  async close(): Promise<void> {
    await this.#source.return?.()
  }
}

/** Decrypted bytes, taken in the sizes that the format names. */
class Plaintext {
  readonly #chunks: AsyncGenerator<Uint8Array>
  #rest: Uint8Array = new Uint8Array(0)

  constructor(chunks: AsyncGenerator<Uint8Array>) {
    this.#chunks = chunks
  }

  /** Exactly `length` bytes, in a buffer of their own. */
  async take(length: number): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = new Uint8Array(length)
    for (let filled = 0; filled < length; ) {
      const part = await this.some(length - filled)
      bytes.set(part, filled)
      filled += part.length
    }
    return bytes
  }

  /** Between one and `max` bytes. */
  async some(max: number): Promise<Uint8Array> {
    while (this.#rest.length === 0) {
      const next = await this.#chunks.next()
      if (next.done === true) throw new Malformed('plaintext is truncated')
      this.#rest = next.value
    }
    const part = this.#rest.subarray(0, max)
    this.#rest = this.#rest.subarray(part.length)
    return part
  }

  /** Takes `length` zeros and then the end. */
  async endAfterZeros(length: number): Promise<void> {
    for (let rest = length; rest > 0; ) {
      const part = await this.some(rest)
      if (part.some(byte => byte !== 0)) throw new Malformed('padding is not zero')
      rest -= part.length
    }
    if (this.#rest.length > 0 || (await this.#chunks.next()).done !== true)
      throw new Malformed('plaintext has the wrong padded length')
  }
}
