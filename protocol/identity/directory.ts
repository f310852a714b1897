/**
 * Directory entries (objects: directory): a static hash that places an agent in a bucket and a box that only who knows
 * the AID can open. The box proves nothing; the reader verifies the log, then the key set, then the AID.
 */
import { chachaOpen, chachaSeal, hmacSha256 } from '#crypto'
import { concat, fromBase64url, Malformed, sized, toBase64url, utf8 } from '../encoding/bytes.ts'
import { decodeFirst } from '../encoding/cbor.ts'
import { type Infer, nullable, record, required } from '../encoding/record.ts'
import { aidBytes } from './aid.ts'
import { kelItem } from './kel.ts'
import { KeySet, KeyStateNotice } from './keyset.ts'

/** Bytes of the hash that places an agent, objects §13. */
export const DIRECTORY_HASH_BYTES = 32
/** Bits of a bucket at most, objects §13. */
export const BUCKET_BITS_MAX = 10
/** Random bytes before the ciphertext of a box, objects §13. */
export const BOX_SALT_BYTES = 32
const BOX_STEP_BYTES = 4096
const BUCKET_AGENTS_MIN = 32
/** Bytes of a box at most, objects §13. */
export const BOX_BYTES_MAX = 320 * 1024
const NONCE = new Uint8Array(12)
const ONE = Uint8Array.of(1)

/** What a box holds: the key event log, the key set and the hub's latest notice, each as the item itself. */
export const DirectoryEntry = record('directory entry', {
  kel: required(1, kelItem),
  keySet: required(2, KeySet),
  notice: required(3, nullable(KeyStateNotice)),
})
/** As decrypted: the log, the key set and the notice are not verified yet. */
export type DirectoryEntry = Infer<typeof DirectoryEntry>

/** The place of an agent in the directory, the same for ever. */
export function directoryHash(aid: string): Uint8Array {
  return expand(directorySecret(aid), utf8('h'))
}

/** Seals an entry; `salt` is 32 fresh random bytes. */
export function sealBox(aid: string, salt: Uint8Array, entry: DirectoryEntry): Uint8Array {
  sized(salt, BOX_SALT_BYTES, 'box salt')
  const encoded = DirectoryEntry.encode(entry)
  const padded = new Uint8Array(Math.ceil(encoded.length / BOX_STEP_BYTES) * BOX_STEP_BYTES)
  padded.set(encoded)
  return concat(salt, chachaSeal(boxKey(aid, salt), NONCE, directoryHash(aid), padded))
}

/** Opens the box of an agent whose AID one knows; what is in it is still to be verified. */
export function openBox(aid: string, box: Uint8Array): DirectoryEntry {
  if (box.length > BOX_BYTES_MAX) throw new Malformed('directory box is too large')
  if (box.length < BOX_SALT_BYTES) throw new Malformed('directory box is truncated')
  const salt = box.subarray(0, BOX_SALT_BYTES)
  const padded = chachaOpen(boxKey(aid, salt), NONCE, directoryHash(aid), box.subarray(BOX_SALT_BYTES))
  const { value, end } = decodeFirst(padded)
  if (padded.subarray(end).some(byte => byte !== 0)) throw new Malformed('padding is not zero')
  if (padded.length !== Math.ceil(end / BOX_STEP_BYTES) * BOX_STEP_BYTES)
    throw new Malformed('directory box has the wrong padded length')
  return DirectoryEntry.read(value, 'directory entry')
}

/** The narrowest bucket that still hides an agent among 32, for a directory of `agents`. */
export function directoryBitsMax(agents: number): number {
  if (agents < BUCKET_AGENTS_MIN) return 0
  return Math.min(Math.floor(Math.log2(agents / BUCKET_AGENTS_MIN)), BUCKET_BITS_MAX)
}

/** The prefix of `bits` bits of a hash as it stands in a query: spare low bits are zero. */
export function bucketPrefix(hash: Uint8Array, bits: number): Uint8Array {
  const prefix = new Uint8Array(hash.subarray(0, Math.ceil(bits / 8)))
  const spare = prefix.length * 8 - bits
  if (spare > 0) prefix[prefix.length - 1] = (prefix[prefix.length - 1] as number) & (0xff << spare)
  return prefix
}

/** {@link bucketPrefix} as base64url, as a query has it (wire-3, `/directory:bucket`). */
export function bucketPrefixText(hash: Uint8Array, bits: number): string {
  return toBase64url(bucketPrefix(hash, bits))
}

/** The prefix of a query; refused unless it is exactly `bits` bits with zero spare bits. */
export function parseBucketPrefix(text: string, bits: number): Uint8Array {
  const prefix = sized(fromBase64url(text, 'prefix'), Math.ceil(bits / 8), 'prefix')
  if (toBase64url(bucketPrefix(prefix, bits)) !== text)
    throw new Malformed('prefix has nonzero trailing bits')
  return prefix
}

/** First and last hash of a bucket, for an index that is sorted by hash. */
export function bucketRange(prefix: Uint8Array, bits: number): { first: Uint8Array; last: Uint8Array } {
  const first = new Uint8Array(DIRECTORY_HASH_BYTES)
  first.set(prefix)
  const last = new Uint8Array(DIRECTORY_HASH_BYTES).fill(0xff)
  last.set(prefix)
  const spare = prefix.length * 8 - bits
  if (spare > 0) last[prefix.length - 1] = (prefix[prefix.length - 1] as number) | ((1 << spare) - 1)
  return { first, last }
}

function directorySecret(aid: string): Uint8Array {
  return hmacSha256(utf8('svc-dir/v1'), aidBytes(aid))
}

function boxKey(aid: string, salt: Uint8Array): Uint8Array {
  return expand(directorySecret(aid), concat(utf8('box'), salt))
}

/** HKDF-Expand to 32 bytes, one block. */
function expand(secret: Uint8Array, info: Uint8Array): Uint8Array {
  return hmacSha256(secret, concat(info, ONE))
}
