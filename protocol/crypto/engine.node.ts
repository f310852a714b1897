/**
 * The engine of every machine: node:crypto. Key objects are cached, because importing one costs a third of a
 * verification. Both engines hold a signature to one rule: {@link isStrict}, then `encode([s]B - [k]A) = R`, without the
 * cofactor; that is OpenSSL's equation.
 */
import * as crypto from 'node:crypto'
import { concat, Malformed, toBase64url } from '../encoding/bytes.ts'
import { isStrict } from './strict.ts'

const KEY_OBJECTS_MAX = 4096
const SEED_BYTES = 32
const TAG_BYTES = 16

const publicKeys = new Map<string, crypto.KeyObject>()
/** By the seed's own array, so that a key lives no longer than whoever holds its seed. */
const privateKeys = new WeakMap<Uint8Array, { of: string; key: crypto.KeyObject }>()

/** 32 bytes, objects §1. */
export function sha256(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(crypto.hash('sha256', bytes, 'buffer'))
}

/** SHA-256 as hex: with many short inputs, the cheapest form of it. */
export const sha256Hex = (bytes: Uint8Array): string => crypto.hash('sha256', bytes, 'hex')

/** SHA-256 of what comes in pieces. */
export function sha256Stream(): { update(bytes: Uint8Array): unknown; digest(): Uint8Array } {
  return crypto.createHash('sha256')
}

/** `length` bytes, objects §6. */
export function shake256(bytes: Uint8Array, length: number): Uint8Array {
  return crypto.hash('shake256', bytes, { outputEncoding: 'buffer', outputLength: length })
}

/** SHA3-256, 32 bytes, objects §6. */
export function sha3(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(crypto.hash('sha3-256', bytes, 'buffer'))
}

/** 64 bytes. */
export function hmacSha512(key: Uint8Array, bytes: Uint8Array): Uint8Array {
  return crypto.createHmac('sha512', key).update(bytes).digest()
}

/** 32 bytes. */
export function hmacSha256(key: Uint8Array, bytes: Uint8Array): Uint8Array {
  return new Uint8Array(crypto.createHmac('sha256', key).update(bytes).digest())
}

/** HKDF-SHA256 with an empty salt unless given; 32 bytes unless said. */
export function hkdfSha256(
  secret: Uint8Array,
  info: Uint8Array,
  salt: Uint8Array = new Uint8Array(0),
  length = 32,
): Uint8Array {
  return new Uint8Array(crypto.hkdfSync('sha256', secret, salt, info, length))
}

/** Equality in time that depends on the length only. */
export function equalSecret(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && crypto.timingSafeEqual(a, b)
}

/** Ed25519 public key, 32 bytes, of a seed of 32; another length throws TypeError (objects §3). */
export function publicKey(seed: Uint8Array): Uint8Array {
  const key = crypto.createPublicKey(privateKeyObject(seed))
  return new Uint8Array(key.export({ format: 'raw-public' }) as Buffer)
}

/** Ed25519 signature, 64 bytes, by a seed of 32; another length throws TypeError (objects §3). */
export function sign(seed: Uint8Array, message: Uint8Array): Uint8Array {
  return new Uint8Array(crypto.sign(null, message, privateKeyObject(seed)))
}

/** Strict Ed25519, objects §3; false for anything that does not hold, lengths included. */
export function verify(key: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  if (!isStrict(key, signature)) return false
  try {
    return crypto.verify(null, message, publicKeyObject(key), signature)
  } catch {
    return false
  }
}

/** {@link verify} on the thread pool, for servers that must not hold their event loop. */
export function verifyAsync(key: Uint8Array, message: Uint8Array, signature: Uint8Array): Promise<boolean> {
  if (!isStrict(key, signature)) return Promise.resolve(false)
  return new Promise(resolve => {
    try {
      crypto.verify(null, message, publicKeyObject(key), signature, (error, valid) =>
        resolve(error === null && valid),
      )
    } catch {
      resolve(false)
    }
  })
}

function privateKeyObject(seed: Uint8Array): crypto.KeyObject {
  if (seed.length !== SEED_BYTES) throw new TypeError(`seed must be ${SEED_BYTES} bytes, got ${seed.length}`)
  return importPrivate(seed, 'raw-private', 'ed25519')
}

function publicKeyObject(key: Uint8Array): crypto.KeyObject {
  const name = toBase64url(key)
  const cached = publicKeys.get(name)
  if (cached !== undefined) return cached
  const object = crypto.createPublicKey({ key, format: 'raw-public', asymmetricKeyType: 'ed25519' } as never)
  if (publicKeys.size >= KEY_OBJECTS_MAX) publicKeys.delete(publicKeys.keys().next().value as string)
  publicKeys.set(name, object)
  return object
}

/** ChaCha20-Poly1305: ciphertext and tag. */
export function chachaSeal(key: Uint8Array, nonce: Uint8Array, aad: Uint8Array, plaintext: Uint8Array) {
  const cipher = crypto.createCipheriv('chacha20-poly1305', key, nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(aad, { plaintextLength: plaintext.length })
  const body = cipher.update(plaintext)
  cipher.final()
  return concat(body, cipher.getAuthTag())
}

/** Inverse of {@link chachaSeal}; a ciphertext that does not authenticate is refused. */
export function chachaOpen(key: Uint8Array, nonce: Uint8Array, aad: Uint8Array, ciphertext: Uint8Array) {
  if (ciphertext.length < TAG_BYTES) throw new Malformed('ciphertext is shorter than its tag')
  const end = ciphertext.length - TAG_BYTES
  const decipher = crypto.createDecipheriv('chacha20-poly1305', key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(aad, { plaintextLength: end })
  decipher.setAuthTag(ciphertext.subarray(end))
  const plaintext = decipher.update(ciphertext.subarray(0, end))
  finish(decipher)
  return new Uint8Array(plaintext)
}

/** AES-256-GCM: ciphertext and tag. */
export function gcmSeal(key: Uint8Array, nonce: Uint8Array, plaintext: Uint8Array): Uint8Array {
  const cipher = crypto.createCipheriv('aes-256-gcm', key, nonce)
  const body = cipher.update(plaintext)
  cipher.final()
  const sealed = concat(body, cipher.getAuthTag())
  release(body)
  return sealed
}

/** Inverse of {@link gcmSeal}; a ciphertext that does not authenticate is refused. */
export function gcmOpen(key: Uint8Array, nonce: Uint8Array, sealed: Uint8Array): Uint8Array {
  if (sealed.length < TAG_BYTES) throw new Malformed('ciphertext is shorter than its tag')
  const end = sealed.length - TAG_BYTES
  const decipher = crypto.createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAuthTag(sealed.subarray(end))
  const chunk = decipher.update(sealed.subarray(0, end))
  finish(decipher)
  // A plain array: `slice` of a Buffer would share the memory that is given back.
  return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.length)
}

function finish(decipher: { final(): unknown }): void {
  try {
    decipher.final()
  } catch {
    throw new Malformed('ciphertext does not authenticate')
  }
}

/** Gives back the memory of bytes nobody else holds; waiting for the collector would let megabytes of chunks pile up. */
export function release(buffer: Uint8Array): void {
  if (buffer.length === buffer.buffer.byteLength) (buffer.buffer as ArrayBuffer).transfer(0)
}

/** Bytes of the system's generator. */
export function randomBytes(length: number): Uint8Array {
  return new Uint8Array(crypto.randomBytes(length))
}

/** X25519 of a 32-byte seed: its public key, and the secret shared with another. */
export function x25519(seed: Uint8Array): { publicKey: Uint8Array; agree(peer: Uint8Array): Uint8Array } {
  const privateKey = importPrivate(seed, 'raw-private', 'x25519')
  return {
    publicKey: rawPublic(privateKey),
    // a point that gives zero is an error in OpenSSL
    agree: peer =>
      refusing('X25519 point', () =>
        crypto.diffieHellman({ privateKey, publicKey: importPublic(peer, 'x25519') }),
      ),
  }
}

/** Public key of a 64-byte ML-KEM-768 seed. */
export function mlkemPublicKey(seed: Uint8Array): Uint8Array {
  return rawPublic(importPrivate(seed, 'raw-seed', 'ml-kem-768'))
}

/** Shared key of 32 bytes, ciphertext of 1,088; throws {@link Malformed} for a bad key (objects §6). */
export function mlkemEncapsulate(key: Uint8Array): { sharedKey: Uint8Array; ciphertext: Uint8Array } {
  return refusing('X-Wing public key', () => crypto.encapsulate(importPublic(key, 'ml-kem-768')))
}

/** Shared key of 32 bytes; a damaged ciphertext gives another key (objects §6). */
export function mlkemDecapsulate(seed: Uint8Array, ciphertext: Uint8Array): Uint8Array {
  return crypto.decapsulate(importPrivate(seed, 'raw-seed', 'ml-kem-768'), ciphertext)
}

function refusing<T>(what: string, operation: () => T): T {
  try {
    return operation()
  } catch {
    throw new Malformed(`${what} is not valid`)
  }
}

type AgreementKey = 'ml-kem-768' | 'x25519'

function importPublic(key: Uint8Array, type: AgreementKey): crypto.KeyObject {
  return crypto.createPublicKey({ key, format: 'raw-public', asymmetricKeyType: type } as never)
}

function importPrivate(
  seed: Uint8Array,
  format: 'raw-seed' | 'raw-private',
  type: AgreementKey | 'ed25519',
): crypto.KeyObject {
  const of = `${type} ${toBase64url(seed)}`
  const cached = privateKeys.get(seed)
  // the array may have been overwritten since
  if (cached?.of === of) return cached.key
  const key = crypto.createPrivateKey({ key: seed, format, asymmetricKeyType: type } as never)
  privateKeys.set(seed, { of, key })
  return key
}

function rawPublic(privateKey: crypto.KeyObject): Uint8Array {
  const exported: unknown = crypto.createPublicKey(privateKey).export({ format: 'raw-public' } as never)
  return new Uint8Array(exported as Buffer)
}
