/**
 * X-Wing (MLKEM768-X25519, draft-connolly-cfrg-xwing-kem): the key encapsulation of every sealed object. A private key
 * is its 32-byte seed.
 */
import {
  mlkemDecapsulate,
  mlkemEncapsulate,
  mlkemPublicKey,
  randomBytes,
  sha3,
  shake256,
  x25519,
} from '#crypto'
import { concat, equal, sized } from '../encoding/bytes.ts'

/** Bytes of the seed that a private key is, objects §6. */
export const XWING_SEED_BYTES = 32
/** Bytes of a public key: 1,184 of ML-KEM-768 and 32 of X25519, objects §6. */
export const XWING_PUBLIC_KEY_BYTES = 1216
/** Bytes of an encapsulation: 1,088 of ML-KEM-768 and 32 of X25519, objects §6. */
export const XWING_ENC_BYTES = 1120

const MLKEM_SEED_BYTES = 64
const MLKEM_PUBLIC_KEY_BYTES = 1184
const MLKEM_CIPHERTEXT_BYTES = 1088
/** The six bytes `\./` over `/^\` that end the combiner's input. */
const LABEL = Uint8Array.of(0x5c, 0x2e, 0x2f, 0x2f, 0x5e, 0x5c)

/** `enc` of 1,120 bytes for the recipient, `sharedSecret` of 32 (objects §6). */
export type Encapsulated = { enc: Uint8Array; sharedSecret: Uint8Array }

type PrivateKey = { seed: Uint8Array; mlkem: Uint8Array; agreement: ReturnType<typeof x25519> }

/** By the seed's own array, so that a key lives no longer than whoever holds its seed. */
const privateKeys = new WeakMap<Uint8Array, PrivateKey>()

/** The 1,216-byte public key of a seed. */
export function xwingPublicKey(seed: Uint8Array): Uint8Array {
  const key = expand(seed)
  return concat(mlkemPublicKey(key.mlkem), key.agreement.publicKey)
}

/** A fresh shared secret for the holder of `publicKey`; a key that is no X-Wing key is refused. */
export function encapsulate(publicKey: Uint8Array): Encapsulated {
  sized(publicKey, XWING_PUBLIC_KEY_BYTES, 'X-Wing public key')
  const x25519Peer = publicKey.subarray(MLKEM_PUBLIC_KEY_BYTES)
  const ephemeral = x25519(randomBytes(XWING_SEED_BYTES))
  const inner = mlkemEncapsulate(publicKey.subarray(0, MLKEM_PUBLIC_KEY_BYTES))
  const outer = ephemeral.agree(x25519Peer)
  return {
    enc: concat(inner.ciphertext, ephemeral.publicKey),
    sharedSecret: combine(inner.sharedKey, outer, ephemeral.publicKey, x25519Peer),
  }
}

/** The shared secret of an encapsulation; a damaged one gives another secret, not a refusal (implicit rejection). */
export function decapsulate(seed: Uint8Array, enc: Uint8Array): Uint8Array {
  sized(enc, XWING_ENC_BYTES, 'X-Wing encapsulation')
  const key = expand(seed)
  const x25519Peer = enc.subarray(MLKEM_CIPHERTEXT_BYTES)
  const inner = mlkemDecapsulate(key.mlkem, enc.subarray(0, MLKEM_CIPHERTEXT_BYTES))
  return combine(inner, key.agreement.agree(x25519Peer), x25519Peer, key.agreement.publicKey)
}

function expand(seed: Uint8Array): PrivateKey {
  if (seed.length !== XWING_SEED_BYTES) throw new TypeError(`X-Wing seed must be ${XWING_SEED_BYTES} bytes`)
  const cached = privateKeys.get(seed)
  // the array may have been overwritten since
  if (cached !== undefined && equal(cached.seed, seed)) return cached
  const bytes = shake256(seed, MLKEM_SEED_BYTES + XWING_SEED_BYTES)
  const key = {
    seed: seed.slice(),
    mlkem: bytes.subarray(0, MLKEM_SEED_BYTES),
    agreement: x25519(bytes.subarray(MLKEM_SEED_BYTES)),
  }
  privateKeys.set(seed, key)
  return key
}

function combine(
  inner: Uint8Array,
  outer: Uint8Array,
  ciphertext: Uint8Array,
  publicKey: Uint8Array,
): Uint8Array {
  return sha3(concat(inner, outer, ciphertext, publicKey, LABEL))
}
