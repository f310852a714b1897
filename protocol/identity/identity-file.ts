/** The file `identity.kel` of a node: the seed of its newest key, and its key event log. */
import { publicKey } from '#crypto'
import { equal, Malformed } from '../encoding/bytes.ts'
import { bytes, literal, record, required } from '../encoding/record.ts'
import { kelItem, type VerifiedKel, verifyKel } from './kel.ts'

/** Bytes of the seed that a private identity key is, objects §3. */
export const SEED_BYTES = 32

const IdentityFile = record('identity file', {
  v: required(1, literal(1)),
  seed: required(2, bytes(SEED_BYTES)),
  log: required(3, kelItem),
})

/** svc-cbor `{1 v, 2 seed, 3 log}`, the seed in the clear. */
export const encodeIdentity = (seed: Uint8Array, log: VerifiedKel): Uint8Array =>
  IdentityFile.encode({ v: 1, seed, log: [...log.events] })

/** Seed and verified log; throws {@link Malformed} or what the log refuses where they don't belong to each other. */
export function decodeIdentity(stored: Uint8Array): { seed: Uint8Array; log: VerifiedKel } {
  const { seed, log } = IdentityFile.decode(stored)
  const verified = verifyKel(log)
  if (!equal(publicKey(seed), verified.publicKey))
    throw new Malformed('the seed is not the one of the last event')
  return { seed, log: verified }
}
