/**
 * Signatures that held, of what is shown again and again: logs, key sets, credentials. What did not hold is computed each
 * time. What is verified once by its nature, as a chain or an envelope, has nothing to gain here.
 */
import { sha256, verify } from '#crypto'
import { concat, toBase64url } from '../encoding/bytes.ts'
import { labelled } from './hash.ts'

const KEY_BYTES = 32
const SIGNATURE_BYTES = 64
const HELD_MAX = 4096

/** Hashes of key, signature and message, the oldest first. */
const held = new Set<string>()

/** `labelledVerify`, which is not computed again for what held; false where it does not hold, lengths included. */
export function verifyShown(
  label: string,
  key: Uint8Array,
  shown: Uint8Array,
  signature: Uint8Array,
): boolean {
  if (key.length !== KEY_BYTES || signature.length !== SIGNATURE_BYTES) return false
  const message = labelled(label, shown)
  const name = toBase64url(sha256(concat(key, signature, message)))
  if (held.has(name)) return true
  if (!verify(key, message, signature)) return false
  if (held.size >= HELD_MAX) held.delete(held.values().next().value as string)
  held.add(name)
  return true
}
