/**
 * Proof of work for registration (objects: evidence chain, proof of work): a stateless seed that the hub can check
 * again after a restart, the check of a solution, and the pure search that workers run.
 */
import { equalSecret, hmacSha256, sha256, sha256Hex } from '#crypto'
import { labelled } from '../crypto/hash.ts'
import { concat, sized, u64be, utf8 } from '../encoding/bytes.ts'
import { AID_BYTES, aidBytes } from './aid.ts'

/** Bytes of a seed: a time of 8 and a MAC of 24, objects §16. */
export const POW_SEED_BYTES = 32
/** Bytes of a nonce, objects §16. */
export const POW_NONCE_BYTES = 8
/** Leading zero bits that a hub asks for at least, objects §16. */
export const POW_BITS_MIN = 22
/** How long a seed holds, in milliseconds. */
export const POW_LIFE_MS = 10 * 60_000
const LABEL = utf8('svc-regpow/v1')
const TIME_BYTES = 8
const MAC_BYTES = POW_SEED_BYTES - TIME_BYTES
const NONCE_OFFSET = LABEL.length + 2 * AID_BYTES + POW_SEED_BYTES

/** Whom a proof is for. */
export type PowTask = { hub: string; aid: string; seed: Uint8Array }

/** A seed for one AID that holds until `notAfterMs`; `secret` never leaves the hub. */
export function powSeed(secret: Uint8Array, aid: string, notAfterMs: number): Uint8Array {
  return concat(u64be(notAfterMs), seedMac(secret, aid, u64be(notAfterMs)))
}

/** Until when a seed holds, or `undefined` when this hub did not give it to this AID. */
export function powSeedNotAfter(secret: Uint8Array, aid: string, seed: Uint8Array): number | undefined {
  if (seed.length !== POW_SEED_BYTES) return undefined
  const time = seed.subarray(0, TIME_BYTES)
  if (!equalSecret(seedMac(secret, aid, time), seed.subarray(TIME_BYTES))) return undefined
  return Number(new DataView(time.buffer, time.byteOffset).getBigUint64(0))
}

/** Leading zero bits of the proof's hash. */
export function powBits(task: PowTask, nonce: Uint8Array): number {
  sized(nonce, POW_NONCE_BYTES, 'nonce')
  return leadingZeroBits(sha256(concat(powPrefix(task), nonce)))
}

/** The first nonce of `count` numbers from `start` whose hash has at least `bits` leading zero bits. */
export function solveRange(
  task: PowTask,
  bits: number,
  start: number,
  count: number,
): Uint8Array | undefined {
  const input = concat(powPrefix(task), new Uint8Array(POW_NONCE_BYTES))
  const view = new DataView(input.buffer)
  const zeros = '0'.repeat(Math.floor(bits / 4))
  for (let nonce = start; nonce < start + count; nonce++) {
    view.setUint32(NONCE_OFFSET, Math.floor(nonce / 0x1_0000_0000))
    view.setUint32(NONCE_OFFSET + 4, nonce >>> 0)
    if (!sha256Hex(input).startsWith(zeros)) continue
    if (leadingZeroBits(sha256(input)) >= bits) return input.slice(NONCE_OFFSET)
  }
  return undefined
}

/** Zero bits before the first one that is set; of zeros alone, all of them. */
export function leadingZeroBits(bytes: Uint8Array): number {
  let bits = 0
  for (const byte of bytes) {
    if (byte !== 0) return bits + Math.clz32(byte) - 24
    bits += 8
  }
  return bits
}

function powPrefix({ hub, aid, seed }: PowTask): Uint8Array {
  return concat(LABEL, aidBytes(hub), aidBytes(aid), sized(seed, POW_SEED_BYTES, 'seed'))
}

function seedMac(secret: Uint8Array, aid: string, time: Uint8Array): Uint8Array {
  return hmacSha256(secret, labelled('svc-pow-seed/v1', aidBytes(aid), time)).subarray(0, MAC_BYTES)
}
