/** Who pays: an identity's AID, the number of its key state, and its signature over what it is given. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sign as signBytes } from '../protocol/crypto/engine.node.ts'
import { decodeIdentity } from '../protocol/identity/identity-file.ts'

export type Payer = {
  aid: string
  /** Number of the key state under which it signs: 0 before the first rotation. */
  keyState: number
  /** Ed25519 over exactly these bytes, 64 bytes. */
  sign: (message: Uint8Array) => Uint8Array | Promise<Uint8Array>
}

/**
 * The identity in the data directory of a node, as it is now: read anew after a rotation. Give a program that pays an
 * identity of its own, since whoever has its key can spend all that it has, and its node knows nothing of what is paid so.
 */
export function payerFromFolder(folder: string): Payer {
  const file = join(folder, 'identity.kel')
  const { seed, log } = decodeIdentity(readFileSync(file))
  if (log.deactivated) throw new Error(`the identity in ${file} has ended; make another one to pay with`)
  return payerWithSeed(log.aid, log.seq, seed)
}

/** A payer whose seed, 32 bytes, is at hand. */
export const payerWithSeed = (aid: string, keyState: number, seed: Uint8Array): Payer => ({
  aid,
  keyState,
  sign: message => signBytes(seed, message),
})
