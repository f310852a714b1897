/** Who pays: an identity's AID, the number of its key state, and its signature over what it is given. */
import { sign as signBytes } from '../protocol/crypto/engine.node.ts'

export type Payer = {
  aid: string
  /** Number of the key state under which it signs: 0 before the first rotation. */
  keyState: number
  /** Ed25519 over exactly these bytes, 64 bytes. */
  sign: (message: Uint8Array) => Uint8Array | Promise<Uint8Array>
}

/** A payer whose seed, 32 bytes, is at hand. */
export const payerWithSeed = (aid: string, keyState: number, seed: Uint8Array): Payer => ({
  aid,
  keyState,
  sign: message => signBytes(seed, message),
})
