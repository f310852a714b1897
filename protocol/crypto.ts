/** What a signature engine offers, so that node:crypto and noble stand behind the same few calls (`#crypto`). */

export type SignatureEngine = {
  /** SHA-256 of the bytes. */
  sha256(bytes: Uint8Array): Uint8Array
  /** Ed25519 public key (32 bytes) of a seed (32 bytes). */
  publicKey(seed: Uint8Array): Uint8Array
  /** Ed25519 signature (64 bytes). */
  sign(seed: Uint8Array, message: Uint8Array): Uint8Array
  /** Strict Ed25519 verification; malformed keys and signatures are `false`, never an exception. */
  verify(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean
}
