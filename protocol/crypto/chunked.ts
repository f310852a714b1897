/**
 * C2SP chunked-encryption v1 as Cobblestone-256 (AES-256-GCM, HKDF-Expand with SHA-512): the content of an envelope as
 * a stream. Memory is one chunk of 16 KiB; truncated, reordered and altered chunks are refused before they are given out.
 */
import { gcmOpen, gcmSeal, hmacSha512, release } from '#crypto'
import { concat, equal, Malformed, utf8 } from '../encoding/bytes.ts'

/** Bytes of plaintext in a chunk, objects §6. */
export const CHUNK_BYTES = 16 * 1024
/** Random bytes at the beginning of the ciphertext, objects §6. */
export const SALT_BYTES = 24
const KEY_BYTES = 32
const NONCE_BYTES = 12
const COMMITMENT_BYTES = 32
/** Bytes of the tag at the end of a chunk, objects §6. */
export const TAG_BYTES = 16
const PREFIX_BYTES = SALT_BYTES + COMMITMENT_BYTES
const SEALED_CHUNK_BYTES = CHUNK_BYTES + TAG_BYTES
const LABEL = concat(utf8('c2sp.org/chunked-encryption@v1+AEAD_AES_256_GCM'), new Uint8Array(1))

/** Bytes that come in pieces of any size. */
export type ByteSource = AsyncIterable<Uint8Array> | Iterable<Uint8Array>

type Keys = { key: Uint8Array; baseNonce: Uint8Array; commitment: Uint8Array }

/** Bytes of the ciphertext of `size` bytes of plaintext. */
export function encryptedSize(size: number): number {
  return PREFIX_BYTES + size + TAG_BYTES * (Math.floor(size / CHUNK_BYTES) + 1)
}

/** Encrypts a stream; the pieces given out are the prefix and then one sealed chunk each. */
export async function* encryptStream(
  key: Uint8Array,
  salt: Uint8Array,
  context: Uint8Array,
  source: ByteSource,
): AsyncGenerator<Uint8Array, void, undefined> {
  const keys = deriveKeys(key, salt, context)
  yield concat(salt, keys.commitment)
  let index = 0
  let last = 0
  for await (const chunk of pieces(source, CHUNK_BYTES)) {
    yield sealChunk(keys, index++, chunk)
    last = chunk.length
  }
  if (index === 0 || last === CHUNK_BYTES) yield sealChunk(keys, index, new Uint8Array(0))
}

/**
 * Decrypts a stream; nothing is given out that has not been authenticated in its place. A piece holds until the next
 * is asked for; whoever keeps it longer copies it.
 */
export async function* decryptStream(
  key: Uint8Array,
  context: Uint8Array,
  source: ByteSource,
): AsyncGenerator<Uint8Array, void, undefined> {
  let keys: Keys | undefined
  let index = 0
  let last = SEALED_CHUNK_BYTES
  for await (const piece of pieces(source, SEALED_CHUNK_BYTES, PREFIX_BYTES)) {
    if (keys === undefined) {
      keys = openPrefix(key, context, piece)
      continue
    }
    if (last < SEALED_CHUNK_BYTES) throw new Malformed('data after the last chunk')
    last = piece.length
    const chunk = openChunk(keys, index++, piece)
    if (chunk.length > 0) yield chunk
    release(chunk)
  }
  if (keys === undefined) throw new Malformed('ciphertext is truncated')
  if (last === SEALED_CHUNK_BYTES) throw new Malformed('ciphertext is truncated after a full chunk')
}

/**
 * The source cut into pieces of `size` bytes (the first of `first`), the last one shorter. All pieces share one buffer:
 * each holds until the next is asked for.
 */
async function* pieces(source: ByteSource, size: number, first = size): AsyncGenerator<Uint8Array> {
  const buffer = new Uint8Array(Math.max(first, size))
  let wanted = first
  let filled = 0
  for await (const part of source) {
    let offset = 0
    while (offset < part.length) {
      const taken = Math.min(wanted - filled, part.length - offset)
      buffer.set(part.subarray(offset, offset + taken), filled)
      filled += taken
      offset += taken
      if (filled < wanted) continue
      yield buffer.subarray(0, wanted)
      wanted = size
      filled = 0
    }
  }
  if (filled > 0) yield buffer.subarray(0, filled)
}

function deriveKeys(key: Uint8Array, salt: Uint8Array, context: Uint8Array): Keys {
  if (key.length !== KEY_BYTES) throw new Malformed(`input key must be ${KEY_BYTES} bytes`)
  if (salt.length !== SALT_BYTES) throw new Malformed(`salt must be ${SALT_BYTES} bytes`)
  const info = concat(LABEL, salt, context)
  const first = hmacSha512(key, concat(info, Uint8Array.of(1)))
  const second = hmacSha512(key, concat(first, info, Uint8Array.of(2)))
  const stream = concat(first, second)
  const nonceEnd = KEY_BYTES + NONCE_BYTES
  return {
    key: stream.subarray(0, KEY_BYTES),
    baseNonce: stream.subarray(KEY_BYTES, nonceEnd),
    commitment: stream.subarray(nonceEnd, nonceEnd + COMMITMENT_BYTES),
  }
}

function openPrefix(key: Uint8Array, context: Uint8Array, prefix: Uint8Array): Keys {
  if (prefix.length < PREFIX_BYTES) throw new Malformed('ciphertext is truncated')
  const keys = deriveKeys(key, prefix.subarray(0, SALT_BYTES), context)
  if (!equal(keys.commitment, prefix.subarray(SALT_BYTES)))
    throw new Malformed('ciphertext was made with another key')
  return keys
}

function sealChunk(keys: Keys, index: number, chunk: Uint8Array): Uint8Array {
  return gcmSeal(keys.key, chunkNonce(keys, index), chunk)
}

function openChunk(keys: Keys, index: number, sealed: Uint8Array): Uint8Array {
  return gcmOpen(keys.key, chunkNonce(keys, index), sealed)
}

/** The counter stays below 2^32 chunks (64 TiB), far beyond the 96 MiB of an envelope. */
function chunkNonce(keys: Keys, index: number): Uint8Array {
  const nonce = keys.baseNonce.slice()
  const view = new DataView(nonce.buffer, nonce.byteOffset)
  view.setUint32(NONCE_BYTES - 4, view.getUint32(NONCE_BYTES - 4) ^ index)
  return nonce
}
