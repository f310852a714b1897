/**
 * X-Wing (MLKEM768-X25519, draft-connolly-cfrg-xwing-kem): the key encapsulation of every sealed object. A private key
 * is its 32-byte seed. ML-KEM and X25519 run in node:crypto, whose encapsulation draws its own randomness.
 */
import * as crypto from 'node:crypto'
import { concat, Malformed, sized } from '../encoding/bytes.ts'

export const XWING_SEED_BYTES = 32
export const XWING_PUBLIC_KEY_BYTES = 1216
export const XWING_ENC_BYTES = 1120

const MLKEM_SEED_BYTES = 64
const MLKEM_PUBLIC_KEY_BYTES = 1184
const MLKEM_CIPHERTEXT_BYTES = 1088
/** The six bytes `\./` over `/^\` that end the combiner's input. */
const LABEL = Uint8Array.of(0x5c, 0x2e, 0x2f, 0x2f, 0x5e, 0x5c)

export type Encapsulated = { enc: Uint8Array; sharedSecret: Uint8Array }

type PrivateKey = { mlkem: crypto.KeyObject; x25519: crypto.KeyObject; x25519Public: Uint8Array }

/** The 1,216-byte public key of a seed. */
export function xwingPublicKey(seed: Uint8Array): Uint8Array {
  const key = expand(seed)
  return concat(rawPublic(key.mlkem), key.x25519Public)
}

/** A fresh shared secret for the holder of `publicKey`; a key that is no X-Wing key is refused. */
export function encapsulate(publicKey: Uint8Array): Encapsulated {
  sized(publicKey, XWING_PUBLIC_KEY_BYTES, 'X-Wing public key')
  const x25519Peer = publicKey.subarray(MLKEM_PUBLIC_KEY_BYTES)
  const ephemeral = crypto.generateKeyPairSync('x25519')
  const enc = new Uint8Array(XWING_ENC_BYTES)
  const inner = refusing('X-Wing public key', () =>
    crypto.encapsulate(importPublic(publicKey.subarray(0, MLKEM_PUBLIC_KEY_BYTES), 'ml-kem-768')),
  )
  enc.set(inner.ciphertext)
  enc.set(rawPublic(ephemeral.privateKey), MLKEM_CIPHERTEXT_BYTES)
  const outer = agree(ephemeral.privateKey, x25519Peer)
  return {
    enc,
    sharedSecret: combine(inner.sharedKey, outer, enc.subarray(MLKEM_CIPHERTEXT_BYTES), x25519Peer),
  }
}

/** The shared secret of an encapsulation; a damaged one gives another secret, not a refusal (implicit rejection). */
export function decapsulate(seed: Uint8Array, enc: Uint8Array): Uint8Array {
  sized(enc, XWING_ENC_BYTES, 'X-Wing encapsulation')
  const key = expand(seed)
  const x25519Peer = enc.subarray(MLKEM_CIPHERTEXT_BYTES)
  const inner = crypto.decapsulate(key.mlkem, enc.subarray(0, MLKEM_CIPHERTEXT_BYTES))
  return combine(inner, agree(key.x25519, x25519Peer), x25519Peer, key.x25519Public)
}

function expand(seed: Uint8Array): PrivateKey {
  if (seed.length !== XWING_SEED_BYTES) throw new TypeError(`X-Wing seed must be ${XWING_SEED_BYTES} bytes`)
  const bytes = crypto.hash('shake256', seed, { outputEncoding: 'buffer', outputLength: 96 })
  const mlkem = importPrivate(bytes.subarray(0, MLKEM_SEED_BYTES), 'raw-seed', 'ml-kem-768')
  const x25519 = importPrivate(bytes.subarray(MLKEM_SEED_BYTES), 'raw-private', 'x25519')
  return { mlkem, x25519, x25519Public: rawPublic(x25519) }
}

function combine(
  inner: Uint8Array,
  outer: Uint8Array,
  ciphertext: Uint8Array,
  publicKey: Uint8Array,
): Uint8Array {
  return new Uint8Array(crypto.hash('sha3-256', concat(inner, outer, ciphertext, publicKey, LABEL), 'buffer'))
}

/** X25519 with a small-order point is an error in OpenSSL; such a key or encapsulation is refused. */
function agree(privateKey: crypto.KeyObject, peer: Uint8Array): Uint8Array {
  return refusing('X25519 point', () =>
    crypto.diffieHellman({ privateKey, publicKey: importPublic(peer, 'x25519') }),
  )
}

function refusing<T>(what: string, operation: () => T): T {
  try {
    return operation()
  } catch {
    throw new Malformed(`${what} is not valid`)
  }
}

function importPublic(key: Uint8Array, type: 'ml-kem-768' | 'x25519'): crypto.KeyObject {
  return crypto.createPublicKey({ key, format: 'raw-public', asymmetricKeyType: type } as never)
}

function importPrivate(
  key: Uint8Array,
  format: 'raw-seed' | 'raw-private',
  type: 'ml-kem-768' | 'x25519',
): crypto.KeyObject {
  return crypto.createPrivateKey({ key, format, asymmetricKeyType: type } as never)
}

function rawPublic(privateKey: crypto.KeyObject): Uint8Array {
  const exported: unknown = crypto.createPublicKey(privateKey).export({ format: 'raw-public' } as never)
  return new Uint8Array(exported as Buffer)
}
