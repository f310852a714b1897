/**
 * The body of a send: the small head first, then, once every credential has held, the content: into memory when it is
 * small, else to a file as it comes, hashed on the way. Nothing of a refused or broken body stays.
 */
import { createHash } from 'node:crypto'
import { sha256 } from '../../protocol/crypto/engine.node.ts'
import { equal, Malformed, toHex } from '../../protocol/encoding/bytes.ts'
import {
  ENVELOPE_HEAD_BYTES_MAX,
  type ParsedEnvelope,
  parseEnvelopeHead,
} from '../../protocol/mail/envelope.ts'
import type { Blobs, BlobWriter } from '../store/blob-port.ts'
import { INLINE_BYTES_MAX } from './limits.ts'
import { Refusal } from './refusal.ts'

const NAME_BYTES = 16

/** Bytes as they arrive, for whoever reads them to keep or hand on; undefined at their end. */
export type ByteSource = {
  next(): Promise<Uint8Array | undefined>
  /** The credential has held: content may come, and counts for its recipient. */
  accept(recipient: string): void
}

/** Bytes of an accepted envelope: in memory, or where a sink has them under this name. */
export type Content = { size: number; content: Uint8Array | undefined; file: string | undefined }

/** Where content goes: what is short stays in memory, the rest is written on as it comes. */
export type ContentSink = {
  /** Content of an envelope of fewer bytes stays in memory. */
  inlineBytesMax: number
  create(): Promise<{ file: string; writer: BlobWriter }>
}

/** Files of this hub. */
export const localContents = (blobs: Blobs, random: (count: number) => Uint8Array): ContentSink => ({
  inlineBytesMax: INLINE_BYTES_MAX,
  async create() {
    const file = toHex(random(NAME_BYTES))
    return { file, writer: await blobs.create(file) }
  },
})

export type EnvelopeBody = ParsedEnvelope & {
  /** Bytes of the whole envelope. */
  size: number
  /** Reads and checks the content. */
  read(sink: ContentSink): Promise<Content>
  /** Reads the content, and keeps nothing of it. */
  skip(): Promise<void>
}

/** Reads as far as the head needs. `declared` is the length of the body where the client said it. */
export async function readEnvelopeHead(
  source: ByteSource,
  declared: number | undefined,
): Promise<EnvelopeBody> {
  let received: Uint8Array = new Uint8Array(0)
  for (;;) {
    const chunk = await source.next()
    if (chunk === undefined) throw malformed('it is truncated')
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
    const parsed = parse(received)
    if (parsed === 'more') continue
    const size = parsed.contentOffset + parsed.contentLength
    if (declared !== undefined && declared !== size)
      throw malformed('its length differs from the declared one')
    if (received.length > size) throw malformed('there are bytes after its end')
    const start = received
    return {
      ...parsed,
      size,
      read: sink => readContent(source, parsed, { start, size }, sink),
      async skip() {
        for await (const _ of checkedChunks(source, parsed, start, size));
      },
    }
  }
}

function parse(received: Uint8Array): ParsedEnvelope | 'more' {
  try {
    return parseEnvelopeHead(received.subarray(0, ENVELOPE_HEAD_BYTES_MAX))
  } catch (error) {
    if (error instanceof Malformed) throw malformed(error.message)
    throw error
  }
}

async function readContent(
  source: ByteSource,
  parsed: ParsedEnvelope,
  { start, size }: { start: Uint8Array; size: number },
  sink: ContentSink,
): Promise<Content> {
  if (size < sink.inlineBytesMax) {
    const content = await readSmall(source, start, size)
    checkContent(sha256(content.subarray(parsed.contentOffset)), parsed)
    return { size, content, file: undefined }
  }
  const checked = checkedChunks(source, parsed, start, size)
  const { file, writer } = await sink.create()
  await writeAll(writer, checked)
  return { size, content: undefined, file }
}

/** All bytes of a small envelope, in a buffer of exactly its size, because that goes to another thread as a whole. */
async function readSmall(source: ByteSource, start: Uint8Array, size: number): Promise<Uint8Array> {
  const isWhole = start.length === size && start.buffer.byteLength === size
  const content = isWhole ? start : new Uint8Array(size)
  if (!isWhole) content.set(start)
  let received = start.length
  for (;;) {
    const chunk = await source.next()
    if (chunk === undefined) break
    if (received + chunk.length > size) throw malformed('there are bytes after its end')
    content.set(chunk, received)
    received += chunk.length
  }
  if (received < size) throw malformed('it is truncated')
  return content
}

async function writeAll(writer: BlobWriter, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    for await (const chunk of chunks) await writer.write(chunk)
  } catch (error) {
    await writer.abort()
    throw error
  }
  await writer.commit()
}

/** Every byte of the envelope in order; throws at the end unless the content hashes to what the head says. */
async function* checkedChunks(
  source: ByteSource,
  parsed: ParsedEnvelope,
  start: Uint8Array,
  size: number,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256').update(start.subarray(parsed.contentOffset))
  let received = start.length
  yield start
  for (;;) {
    const chunk = await source.next()
    if (chunk === undefined) break
    received += chunk.length
    if (received > size) throw malformed('there are bytes after its end')
    hash.update(chunk)
    yield chunk
  }
  if (received < size) throw malformed('it is truncated')
  checkContent(hash.digest(), parsed)
}

function checkContent(digest: Uint8Array, { head }: ParsedEnvelope): void {
  if (!equal(digest, head.contentDigest)) throw malformed('its content does not match the hash in key 8')
}

function malformed(why: string): Refusal {
  return new Refusal('envelopeMalformed', { why })
}
