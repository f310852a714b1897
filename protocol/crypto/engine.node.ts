/**
 * The engine of every machine: node:crypto. Its strict Ed25519 verdict is the one that counts wherever a verdict
 * decides what is stored or shared. Key objects are cached, because importing one costs a third of a verification.
 */
import * as crypto from 'node:crypto'
import { toBase64url } from '../encoding/bytes.ts'

const KEY_OBJECTS_MAX = 4096
const SEED_BYTES = 32
const SIGNATURE_BYTES = 64

const publicKeys = new Map<string, crypto.KeyObject>()
/** By the seed's own array, so that a key lives no longer than whoever holds its seed. */
const privateKeys = new WeakMap<Uint8Array, { seed: string; key: crypto.KeyObject }>()

export function sha256(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(crypto.hash('sha256', bytes, 'buffer'))
}

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

export function publicKey(seed: Uint8Array): Uint8Array {
  const key = crypto.createPublicKey(privateKeyObject(seed))
  return new Uint8Array(key.export({ format: 'raw-public' }) as Buffer)
}

export function sign(seed: Uint8Array, message: Uint8Array): Uint8Array {
  return new Uint8Array(crypto.sign(null, message, privateKeyObject(seed)))
}

export function verify(key: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  if (signature.length !== SIGNATURE_BYTES) return false
  try {
    return crypto.verify(null, message, publicKeyObject(key), signature)
  } catch {
    return false
  }
}

/** {@link verify} on the thread pool, for servers that must not hold their event loop. */
export function verifyAsync(key: Uint8Array, message: Uint8Array, signature: Uint8Array): Promise<boolean> {
  if (signature.length !== SIGNATURE_BYTES) return Promise.resolve(false)
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
  const text = toBase64url(seed)
  const cached = privateKeys.get(seed)
  // the array may have been overwritten since
  if (cached?.seed === text) return cached.key
  const options = { key: seed, format: 'raw-private', asymmetricKeyType: 'ed25519' } as never
  const key = crypto.createPrivateKey(options)
  privateKeys.set(seed, { seed: text, key })
  return key
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
