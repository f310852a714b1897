/**
 * A signed note over the tree of a supply chain (C2SP tlog-checkpoint and signed-note): origin, number of records and root,
 * as witnesses of transparency logs read it.
 */
import { publicKey, sha256, sign, verify } from '#crypto'
import { concat, equal, fromBase64, Malformed, toBase64, utf8 } from '../encoding/bytes.ts'

/** Marks an Ed25519 signature in a signed note. */
const ED25519 = 1
const KEY_HASH_BYTES = 4

/** Number of records, and the RFC 6962 root over their ids, 32 bytes (objects §19). */
export type Checkpoint = { size: number; root: Uint8Array }

/** The name under which a hub signs checkpoints of its supply. */
export const supplyOrigin = (hub: string): string => `svc-supply/${hub}`

/** First bytes of a hash over name and key, by which a reader finds the key of a line. */
function keyHash(origin: string, key: Uint8Array): Uint8Array {
  return sha256(concat(utf8(`${origin}\n`), Uint8Array.of(ED25519), key)).subarray(0, KEY_HASH_BYTES)
}

/** The text that is signed, without the lines of signatures. */
export const checkpointText = (origin: string, { size, root }: Checkpoint): string =>
  `${origin}\n${size}\n${toBase64(root)}\n`

const SIZE = /^(0|[1-9][0-9]{0,15})$/
const ROOT_BYTES = 32

/** Reads the text of a note of this origin, whoever signed it; throws {@link Malformed} for anything else. */
export function parseCheckpoint(note: string, origin: string): { checkpoint: Checkpoint; text: string } {
  const [from, size = '', encoded = '', blank] = note.split('\n')
  if (from !== origin) throw new Malformed('the checkpoint is that of another log')
  if (!SIZE.test(size) || blank !== '') throw new Malformed('expected a checkpoint: origin, size and root')
  const checkpoint = { size: Number(size), root: fromBase64(encoded, 'the root') }
  if (checkpoint.root.length !== ROOT_BYTES) throw new Malformed('the root has not 32 bytes')
  return { checkpoint, text: checkpointText(origin, checkpoint) }
}

/** The note with the signature of an identity key. */
export function signedCheckpoint(seed: Uint8Array, origin: string, checkpoint: Checkpoint): string {
  const text = checkpointText(origin, checkpoint)
  const signature = concat(keyHash(origin, publicKey(seed)), sign(seed, utf8(text)))
  return `${text}\n— ${origin} ${toBase64(signature)}\n`
}

/** Whether a note is the one of this origin over this tree, signed with this key; lines of others may stand beside it. */
export function checkpointHolds(
  note: string,
  { origin, key, checkpoint }: { origin: string; key: Uint8Array; checkpoint: Checkpoint },
): boolean {
  const text = checkpointText(origin, checkpoint)
  if (!note.startsWith(`${text}\n`)) return false
  const hash = keyHash(origin, key)
  return note
    .slice(text.length + 1)
    .split('\n')
    .map(line => /^— (\S+) (\S+)$/.exec(line))
    .some(line => {
      if (line?.[1] !== origin) return false
      const bytes = bytesIn(line[2] as string)
      if (bytes === undefined || !equal(bytes.subarray(0, KEY_HASH_BYTES), hash)) return false
      return verify(key, utf8(text), bytes.subarray(KEY_HASH_BYTES))
    })
}

function bytesIn(line: string): Uint8Array | undefined {
  try {
    return fromBase64(line)
  } catch (error) {
    if (error instanceof Malformed) return undefined
    throw error
  }
}
