/**
 * Cosignatures of witnesses of transparency logs (C2SP tlog-cosignature, tlog-witness): what is sent to one with a
 * checkpoint, and which lines of its answer are signed with the key that is known of it.
 */
import { sha256, verify } from '#crypto'
import { concat, equal, fromBase64, fromHex, Malformed, toBase64, utf8 } from '../encoding/bytes.ts'

/** Marks a cosignature of an Ed25519 key. */
const COSIGNATURE = 4
const KEY_HASH_BYTES = 4
const KEY_BYTES = 32
const TIME_BYTES = 8
const SIGNATURE_BYTES = 64
const VERIFIER_KEY = /^([^\s+]{1,200})\+([0-9a-f]{8})\+([A-Za-z0-9+/=]{1,100})$/

/** Who cosigns: a name and an Ed25519 key. */
export type Cosigner = { name: string; key: Uint8Array; keyHash: Uint8Array }

/** A verifier key as the format of signed notes writes it: name, hash of both, and the key after its type. */
export function parseVerifierKey(text: string): Cosigner {
  const [, name = '', hash = '', encoded = ''] = VERIFIER_KEY.exec(text) ?? []
  const typed = fromBase64(encoded, 'the key')
  if (typed.length !== 1 + KEY_BYTES || typed[0] !== COSIGNATURE)
    throw new Malformed('expected the verifier key of a witness: name+hash+key, of type 4')
  const keyHash = sha256(concat(utf8(`${name}\n`), typed)).subarray(0, KEY_HASH_BYTES)
  if (!equal(keyHash, fromHex(hash)))
    throw new Malformed('the hash in the verifier key is that of another one')
  return { name, key: typed.subarray(1), keyHash }
}

/** The body of `add-checkpoint`: the size that the witness knows, the way from there, and the signed note. */
export const checkpointOffer = (oldSize: number, proof: readonly Uint8Array[], note: string): string =>
  `old ${oldSize}\n${proof.map(node => `${toBase64(node)}\n`).join('')}\n${note}`

/** The first line of an answer that this cosigner signed over the text of a checkpoint, with its end of line. */
export function cosignatureIn(answer: string, text: string, cosigner: Cosigner): string | undefined {
  const line = answer.split('\n').find(one => isBy(one, text, cosigner))
  return line === undefined ? undefined : `${line}\n`
}

/** When a line was signed, by the clock of its witness, in Unix ms; the line is one that {@link cosignatureIn} gave. */
export function cosignedAtMs(line: string): number {
  const bytes = fromBase64(line.trim().split(' ')[2] ?? '')
  const view = new DataView(bytes.buffer, bytes.byteOffset + KEY_HASH_BYTES, TIME_BYTES)
  return Number(view.getBigUint64(0)) * 1000
}

function isBy(line: string, text: string, { name, key, keyHash }: Cosigner): boolean {
  const [, given, encoded] = /^— (\S+) (\S+)$/.exec(line) ?? []
  const bytes = given === name ? bytesIn(encoded ?? '') : undefined
  if (bytes?.length !== KEY_HASH_BYTES + TIME_BYTES + SIGNATURE_BYTES) return false
  if (!equal(bytes.subarray(0, KEY_HASH_BYTES), keyHash)) return false
  const signed = bytes.subarray(KEY_HASH_BYTES)
  const seconds = new DataView(signed.buffer, signed.byteOffset, TIME_BYTES).getBigUint64(0)
  return verify(key, utf8(`cosignature/v1\ntime ${seconds}\n${text}`), signed.subarray(TIME_BYTES))
}

function bytesIn(encoded: string): Uint8Array | undefined {
  try {
    return fromBase64(encoded)
  } catch (error) {
    if (error instanceof Malformed) return undefined
    throw error
  }
}
