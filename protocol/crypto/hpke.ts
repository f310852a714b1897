/**
 * HPKE (RFC 9180) in base mode with the one suite of ours: X-Wing 0x647a, HKDF-SHA256, ChaCha20-Poly1305. Envelopes use
 * its exported secret; the relay session is one sealed message. Other modes and suites are left out.
 */
import { chachaOpen, chachaSeal, hmacSha256 } from '#crypto'
import { concat, utf8 } from '../encoding/bytes.ts'
import { decapsulate, encapsulate } from './xwing.ts'

const KEY_BYTES = 32
const NONCE_BYTES = 12
const HASH_BYTES = 32
const EMPTY = new Uint8Array(0)
const ONE = Uint8Array.of(1)
const VERSION = utf8('HPKE-v1')

/** KEM 0x647a, KDF 0x0001, AEAD 0x0003, after the letters HPKE. */
export const SUITE_ID = concat(utf8('HPKE'), Uint8Array.of(0x64, 0x7a, 0x00, 0x01, 0x00, 0x03))

/** What both sides derive from a shared secret. */
export type HpkeContext = {
  key: Uint8Array
  baseNonce: Uint8Array
  exporterSecret: Uint8Array
  suiteId: Uint8Array
}

/** The key schedule of base mode; vectors of other KEMs pass their own suite id. */
export function keySchedule(sharedSecret: Uint8Array, info: Uint8Array, suiteId = SUITE_ID): HpkeContext {
  const pskIdHash = labeledExtract(suiteId, 'psk_id_hash', EMPTY, EMPTY)
  const infoHash = labeledExtract(suiteId, 'info_hash', EMPTY, info)
  const context = concat(Uint8Array.of(0), pskIdHash, infoHash)
  const secret = labeledExtract(suiteId, 'secret', sharedSecret, EMPTY)
  return {
    key: labeledExpand(suiteId, 'key', secret, context, KEY_BYTES),
    baseNonce: labeledExpand(suiteId, 'base_nonce', secret, context, NONCE_BYTES),
    exporterSecret: labeledExpand(suiteId, 'exp', secret, context, HASH_BYTES),
    suiteId,
  }
}

/** The exported secret of a context, 32 bytes. */
export function exportSecret(context: HpkeContext, exporterContext: Uint8Array): Uint8Array {
  return labeledExpand(context.suiteId, 'sec', context.exporterSecret, exporterContext, HASH_BYTES)
}

/** Sender's side of an export: the encapsulation and the secret. */
export function sendExport(
  publicKey: Uint8Array,
  info: Uint8Array,
  exporterContext: Uint8Array,
): { enc: Uint8Array; secret: Uint8Array } {
  const { enc, sharedSecret } = encapsulate(publicKey)
  return { enc, secret: exportSecret(keySchedule(sharedSecret, info), exporterContext) }
}

/** Receiver's side of {@link sendExport}. */
export function receiveExport(
  seed: Uint8Array,
  enc: Uint8Array,
  info: Uint8Array,
  exporterContext: Uint8Array,
): Uint8Array {
  return exportSecret(keySchedule(decapsulate(seed, enc), info), exporterContext)
}

/** Seals one message to a key. */
export function seal(
  publicKey: Uint8Array,
  info: Uint8Array,
  aad: Uint8Array,
  plaintext: Uint8Array,
): { enc: Uint8Array; ciphertext: Uint8Array } {
  const { enc, sharedSecret } = encapsulate(publicKey)
  const context = keySchedule(sharedSecret, info)
  return { enc, ciphertext: chachaSeal(context.key, context.baseNonce, aad, plaintext) }
}

/** Opens the one message of {@link seal}; anything else is refused. */
export function open(
  seed: Uint8Array,
  enc: Uint8Array,
  info: Uint8Array,
  aad: Uint8Array,
  ciphertext: Uint8Array,
): Uint8Array {
  const context = keySchedule(decapsulate(seed, enc), info)
  return chachaOpen(context.key, context.baseNonce, aad, ciphertext)
}

function labeledExtract(suiteId: Uint8Array, label: string, salt: Uint8Array, ikm: Uint8Array): Uint8Array {
  return hmacSha256(salt, concat(VERSION, suiteId, utf8(label), ikm))
}

/** Every length asked for here fits one block of the hash, so HKDF-Expand is one HMAC. */
function labeledExpand(
  suiteId: Uint8Array,
  label: string,
  secret: Uint8Array,
  info: Uint8Array,
  length: number,
): Uint8Array {
  const size = Uint8Array.of(length >> 8, length & 255)
  return hmacSha256(secret, concat(size, VERSION, suiteId, utf8(label), info, ONE)).subarray(0, length)
}
