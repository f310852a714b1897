/**
 * The portable engine: noble. It serves pages that verify in a browser and is the second opinion in tests. Signatures
 * are held to the same rule as in engine.node.ts; noble's own check multiplies by the cofactor and is not used.
 */
import { gcm } from '@noble/ciphers/aes.js'
import { chacha20poly1305 } from '@noble/ciphers/chacha.js'
import { x25519 as curve } from '@noble/curves/ed25519.js'
import { getPublicKey, hashes, sign as nobleSign, Point } from '@noble/ed25519'
import { hkdf } from '@noble/hashes/hkdf.js'
import { hmac } from '@noble/hashes/hmac.js'
import { sha256 as nobleSha256, sha512 } from '@noble/hashes/sha2.js'
import { shake256 as nobleShake256, sha3_256 } from '@noble/hashes/sha3.js'
import { ml_kem768 } from '@noble/post-quantum/ml-kem.js'
import { concat, equal, Malformed, toHex } from '../encoding/bytes.ts'
import { isStrict } from './strict.ts'

hashes.sha512 = sha512

const TAG_BYTES = 16
const KEY_BYTES = 32
const RANDOM_BYTES_MAX = 65_536
const GROUP_ORDER = Point.CURVE().n

/** 32 bytes, objects §1. */
export const sha256 = (bytes: Uint8Array): Uint8Array => nobleSha256(bytes)
/** SHA-256 as 64 digits of lower-case hex. */
export const sha256Hex = (bytes: Uint8Array): string => toHex(nobleSha256(bytes))
/** SHA-256 of what comes in pieces, 32 bytes. */
export const sha256Stream = (): { update(bytes: Uint8Array): unknown; digest(): Uint8Array } =>
  nobleSha256.create()
/** `length` bytes, objects §6. */
export const shake256 = (bytes: Uint8Array, length: number): Uint8Array =>
  nobleShake256(bytes, { dkLen: length })
/** SHA3-256, 32 bytes, objects §6. */
export const sha3 = (bytes: Uint8Array): Uint8Array => sha3_256(bytes)
/** 32 bytes. */
export const hmacSha256 = (key: Uint8Array, bytes: Uint8Array): Uint8Array => hmac(nobleSha256, key, bytes)
/** 64 bytes. */
export const hmacSha512 = (key: Uint8Array, bytes: Uint8Array): Uint8Array => hmac(sha512, key, bytes)

/** HKDF-SHA256 with an empty salt unless given; 32 bytes unless said. */
export function hkdfSha256(
  secret: Uint8Array,
  info: Uint8Array,
  salt: Uint8Array = new Uint8Array(0),
  length = 32,
): Uint8Array {
  return hkdf(nobleSha256, secret, salt, info, length)
}

/** Equality in time that depends on the length only. */
export function equalSecret(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false
  let difference = 0
  for (let i = 0; i < a.length; i++) difference |= (a[i] as number) ^ (b[i] as number)
  return difference === 0
}

/** Ed25519 public key, 32 bytes, of a seed of 32 (objects §3). */
export const publicKey = (seed: Uint8Array): Uint8Array => getPublicKey(seed)
/** Ed25519 signature, 64 bytes, by a seed of 32 (objects §3). */
export const sign = (seed: Uint8Array, message: Uint8Array): Uint8Array => nobleSign(message, seed)

/** Strict Ed25519, objects §3; false for anything that does not hold, lengths included. */
export function verify(key: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  if (!isStrict(key, signature)) return false
  const r = signature.subarray(0, KEY_BYTES)
  try {
    const a = Point.fromBytes(key, false)
    const k = numberOf(sha512(concat(r, key, message))) % GROUP_ORDER
    const s = numberOf(signature.subarray(KEY_BYTES))
    return equal(Point.BASE.multiply(s, false).subtract(a.multiply(k, false)).toBytes(), r)
  } catch {
    return false
  }
}

/** {@link verify}, as a promise. */
export const verifyAsync = async (key: Uint8Array, message: Uint8Array, signature: Uint8Array) =>
  verify(key, message, signature)

/** Little-endian. */
function numberOf(bytes: Uint8Array): bigint {
  return bytes.reduceRight((value, byte) => (value << 8n) | BigInt(byte), 0n)
}

/** ChaCha20-Poly1305: ciphertext and tag of 16 bytes; key of 32, nonce of 12. */
export const chachaSeal = (key: Uint8Array, nonce: Uint8Array, aad: Uint8Array, plaintext: Uint8Array) =>
  chacha20poly1305(key, nonce, aad).encrypt(plaintext)

/** Inverse of {@link chachaSeal}; throws {@link Malformed} for what does not authenticate. */
export const chachaOpen = (key: Uint8Array, nonce: Uint8Array, aad: Uint8Array, ciphertext: Uint8Array) =>
  opened(ciphertext, () => chacha20poly1305(key, nonce, aad).decrypt(ciphertext))

/** AES-256-GCM: ciphertext and tag of 16 bytes; key of 32, nonce of 12. */
export const gcmSeal = (key: Uint8Array, nonce: Uint8Array, plaintext: Uint8Array): Uint8Array =>
  gcm(key, nonce).encrypt(plaintext)

/** Inverse of {@link gcmSeal}; throws {@link Malformed} for what does not authenticate. */
export const gcmOpen = (key: Uint8Array, nonce: Uint8Array, sealed: Uint8Array): Uint8Array =>
  opened(sealed, () => gcm(key, nonce).decrypt(sealed))

function opened(ciphertext: Uint8Array, decrypt: () => Uint8Array): Uint8Array {
  if (ciphertext.length < TAG_BYTES) throw new Malformed('ciphertext is shorter than its tag')
  return refusing('ciphertext does not authenticate', decrypt)
}

/** Memory is the collector's here. */
export function release(_buffer: Uint8Array): void {}

/** Bytes of the system's generator. */
export function randomBytes(length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  for (let i = 0; i < length; i += RANDOM_BYTES_MAX)
    globalThis.crypto.getRandomValues(bytes.subarray(i, i + RANDOM_BYTES_MAX))
  return bytes
}

/** X25519 of a 32-byte seed; noble refuses a point that gives zero. */
export function x25519(seed: Uint8Array): { publicKey: Uint8Array; agree(peer: Uint8Array): Uint8Array } {
  return {
    publicKey: curve.getPublicKey(seed),
    agree: peer => refusing('X25519 point is not valid', () => curve.getSharedSecret(seed, peer)),
  }
}

/** ML-KEM-768 public key, 1,184 bytes, of a seed of 64 (objects §6). */
export const mlkemPublicKey = (seed: Uint8Array): Uint8Array => ml_kem768.keygen(seed).publicKey

/** Shared key of 32 bytes, ciphertext of 1,088; throws {@link Malformed} for a bad key (objects §6). */
export function mlkemEncapsulate(key: Uint8Array): { sharedKey: Uint8Array; ciphertext: Uint8Array } {
  const { sharedSecret, cipherText } = refusing('X-Wing public key is not valid', () =>
    ml_kem768.encapsulate(key, randomBytes(KEY_BYTES)),
  )
  return { sharedKey: sharedSecret, ciphertext: cipherText }
}

/** Shared key of 32 bytes; a damaged ciphertext gives another key (objects §6). */
export const mlkemDecapsulate = (seed: Uint8Array, ciphertext: Uint8Array): Uint8Array =>
  ml_kem768.decapsulate(ciphertext, ml_kem768.keygen(seed).secretKey)

function refusing<T>(sentence: string, operation: () => T): T {
  try {
    return operation()
  } catch {
    throw new Malformed(sentence)
  }
}
