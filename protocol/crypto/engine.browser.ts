/**
 * The portable engine: noble. It serves the page that verifies a receipt in a browser and is the second opinion in
 * tests. It always runs with `zip215: false`; with noble's default a small-order key verifies any message.
 */
import { getPublicKey, hashes, sign as nobleSign, verify as nobleVerify } from '@noble/ed25519'
import { sha256 as nobleSha256, sha512 } from '@noble/hashes/sha2.js'

hashes.sha512 = sha512

export function sha256(bytes: Uint8Array): Uint8Array {
  return nobleSha256(bytes)
}

export function publicKey(seed: Uint8Array): Uint8Array {
  return getPublicKey(seed)
}

export function sign(seed: Uint8Array, message: Uint8Array): Uint8Array {
  return nobleSign(message, seed)
}

export function verify(key: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  try {
    return nobleVerify(signature, message, key, { zip215: false })
  } catch {
    return false
  }
}
