/**
 * The outer map of a sealed envelope (objects: sealed envelope). A hub reads the small head, settles every credential
 * and streams the content, which stands last. Digest and context come from the head alone.
 */
import { sha256 } from '#crypto'
import { ENVELOPE_BYTES_MAX } from '../contract/limits.ts'
import { labelledHash } from '../crypto/hash.ts'
import { XWING_ENC_BYTES } from '../crypto/xwing.ts'
import { concat, Malformed } from '../encoding/bytes.ts'
import { headBytes, readHead as readCborHead } from '../encoding/cbor.ts'
import { AID_BYTES, aidBytes, aidText } from '../identity/aid.ts'
import { SUITE } from '../identity/keyset.ts'
import { ACCESS_BYTES_MAX, staticAccess } from './access.ts'

/** Key 1 of every envelope, objects §6. */
export const ENVELOPE_VERSION = 3
/** Bytes of a kid, which names an encryption key, objects §5. */
export const KID_BYTES = 8
/** Bytes before the content at most, objects §6. */
export const ENVELOPE_HEAD_BYTES_MAX = 4096
/** Milliseconds; every expiry is a whole hour, objects §6. */
export const HOUR_MS = 3_600_000
/** How far ahead an envelope may expire: 14 days in milliseconds, objects §6. */
export const EXP_AHEAD_MS = 14 * 24 * HOUR_MS
/** How much further ahead a hub takes it, in milliseconds, for clocks that differ. */
export const EXP_SKEW_MS = 5 * 60_000
const HASH_BYTES = 32
const CONTENT_KEY = 9
const MAJOR_UINT = 0
const MAJOR_BYTES = 2
const MAJOR_ARRAY = 4
const MAJOR_MAP = 5
/** What is no larger is read as a copy, so that whoever keeps a hash or a name doesn't keep the envelope. */
const COPIED_BYTES_MAX = 64
const DIGEST_LABEL = 'svc-env-id/v1'
const DIGEST_HEAD = headBytes(MAJOR_MAP, 7)

/** Outer keys 2, 4, 5, 6 and 8: with version and suite, what the envelope digest covers. */
export type EnvelopeCore = {
  to: string
  kid: Uint8Array
  expMs: number
  enc: Uint8Array
  contentDigest: Uint8Array
}
/** The head: all keys but the content. `access` is kept as received; read from an envelope, it and `enc` are views into that. */
export type EnvelopeHead = EnvelopeCore & { access: Uint8Array }
/** `digest` is {@link envelopeDigest}, made from the bytes as they were received. */
export type ParsedEnvelope = {
  head: EnvelopeHead
  digest: Uint8Array
  contentOffset: number
  contentLength: number
}

/** Everything before the first byte of the content. */
export function encodeEnvelopeHead(head: EnvelopeHead, contentLength: number): Uint8Array {
  return concat(
    headBytes(MAJOR_MAP, CONTENT_KEY),
    coreEntries(head),
    headBytes(MAJOR_UINT, 7),
    byteString(head.access),
    digestEntry(head),
    headBytes(MAJOR_UINT, CONTENT_KEY),
    headBytes(MAJOR_BYTES, contentLength),
  )
}

/** Reads the head from the bytes received so far; refuses as early as a byte is wrong. */
export function parseEnvelopeHead(received: Uint8Array): ParsedEnvelope | 'more' {
  const bounded = received.subarray(0, ENVELOPE_HEAD_BYTES_MAX)
  try {
    return readHead(new HeadReader(bounded))
  } catch (error) {
    if (error !== MORE) throw error
    if (received.length >= ENVELOPE_HEAD_BYTES_MAX) throw new Malformed('envelope head is over 4096 bytes')
    return 'more'
  }
}

/** The name of an envelope: H over outer keys 1–6 and 8. */
export function envelopeDigest(core: EnvelopeCore): Uint8Array {
  return labelledHash(DIGEST_LABEL, DIGEST_HEAD, coreEntries(core), digestEntry(core))
}

/** ctx: what sealing binds the content to; it holds the access record without its proof. */
export function contextHash(head: Pick<EnvelopeHead, 'to' | 'kid' | 'expMs' | 'access'>): Uint8Array {
  return sha256(
    concat(
      headBytes(MAJOR_ARRAY, 6),
      headBytes(MAJOR_UINT, ENVELOPE_VERSION),
      byteString(aidBytes(head.to)),
      headBytes(MAJOR_UINT, SUITE),
      byteString(head.kid),
      headBytes(MAJOR_UINT, head.expMs),
      staticAccess(head.access),
    ),
  )
}

/** The latest expiry a sender may name: a whole hour, at most 14 days ahead. */
export function latestExpMs(nowMs: number): number {
  return Math.floor((nowMs + EXP_AHEAD_MS) / HOUR_MS) * HOUR_MS
}

function coreEntries(core: EnvelopeCore): Uint8Array {
  return concat(
    Uint8Array.of(1, ENVELOPE_VERSION, 2),
    byteString(aidBytes(core.to)),
    Uint8Array.of(3, SUITE, 4),
    byteString(core.kid),
    Uint8Array.of(5),
    headBytes(MAJOR_UINT, core.expMs),
    Uint8Array.of(6),
    byteString(core.enc),
  )
}

function digestEntry(core: EnvelopeCore): Uint8Array {
  return concat(Uint8Array.of(8), byteString(core.contentDigest))
}

function byteString(bytes: Uint8Array): Uint8Array {
  return concat(headBytes(MAJOR_BYTES, bytes.length), bytes)
}

const MORE = Symbol('more bytes are needed')

function readHead(reader: HeadReader): ParsedEnvelope {
  reader.expect(MAJOR_MAP, CONTENT_KEY, 'envelope is not a map of nine keys')
  const coreStart = reader.offset
  reader.key(1)
  reader.expect(MAJOR_UINT, ENVELOPE_VERSION, 'envelope is not of version 3')
  reader.key(2)
  const to = aidText(reader.bytes(AID_BYTES, 'recipient'))
  reader.key(3)
  reader.expect(MAJOR_UINT, SUITE, 'envelope is not of suite 1')
  reader.key(4)
  const kid = reader.bytes(KID_BYTES, 'kid')
  reader.key(5)
  const expMs = reader.item(MAJOR_UINT, 'exp')
  if (expMs % HOUR_MS !== 0) throw new Malformed('exp is not a whole hour')
  reader.key(6)
  const enc = reader.bytes(XWING_ENC_BYTES, 'enc')
  const coreBytes = reader.since(coreStart)
  reader.key(7)
  const access = reader.bytes(undefined, 'access')
  const digestStart = reader.offset
  reader.key(8)
  const contentDigest = reader.bytes(HASH_BYTES, 'content digest')
  const digest = labelledHash(DIGEST_LABEL, DIGEST_HEAD, coreBytes, reader.since(digestStart))
  reader.key(CONTENT_KEY)
  const contentLength = reader.item(MAJOR_BYTES, 'content')
  if (reader.offset + contentLength > ENVELOPE_BYTES_MAX) throw new Malformed('envelope is over 96 MiB')
  const head = { to, kid, expMs, enc, access, contentDigest }
  return { head, digest, contentOffset: reader.offset, contentLength }
}

/** Reads items in order; throws {@link MORE} where the bytes end. */
class HeadReader {
  readonly #bytes: Uint8Array
  offset = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  /** The bytes read since an offset; every item is canonical, so they are what encoding would give. */
  since(offset: number): Uint8Array {
    return this.#bytes.subarray(offset, this.offset)
  }

  expect(major: number, argument: number, fault: string): void {
    if (this.#head() !== major || this.#argument(fault) !== argument) throw new Malformed(fault)
  }

  key(key: number): void {
    this.expect(MAJOR_UINT, key, `envelope key ${key} is not in its place`)
  }

  item(major: number, name: string): number {
    if (this.#head() !== major) throw new Malformed(`envelope ${name} has the wrong type`)
    return this.#argument(name)
  }

  bytes(length: number | undefined, name: string): Uint8Array {
    const size = this.item(MAJOR_BYTES, name)
    if (size !== (length ?? size) || size > Math.max(ACCESS_BYTES_MAX, length ?? 0))
      throw new Malformed(`envelope ${name} is ${size} bytes long`)
    if (this.offset + size > this.#bytes.length) throw MORE
    this.offset += size
    const { buffer, byteOffset } = this.#bytes
    const read = new Uint8Array(buffer, byteOffset + this.offset - size, size)
    return size > COPIED_BYTES_MAX ? read : read.slice()
  }

  #head(): number {
    const initial = this.#bytes[this.offset]
    if (initial === undefined) throw MORE
    return initial >> 5
  }

  #argument(name: string): number {
    const short = (this.#bytes[this.offset] as number) & 31
    if (short > 27) throw new Malformed(`envelope ${name} has an indefinite length`)
    const size = short < 24 ? 0 : 1 << (short - 24)
    if (this.offset + 1 + size > this.#bytes.length) throw MORE
    const head = readCborHead(this.#bytes, this.offset)
    this.offset = head.next
    return head.argument
  }
}
