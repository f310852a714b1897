/**
 * Delivery confirmations (objects: delivery confirmation): what a recipient leaves at the hub for the sender of one
 * envelope. The hub sees a handle and 540 bytes of noise; only the two who know the handle secret can read or make it.
 */

import { chachaOpen, chachaSeal, hkdfSha256 } from '#crypto'
import { DACK_BYTES } from '../contract/limits.ts'
import { labelledHash } from '../crypto/hash.ts'
import { type Signed, signed } from '../crypto/signed.ts'
import { concat, Malformed, sized, utf8 } from '../encoding/bytes.ts'
import { decodeFirst } from '../encoding/cbor.ts'
import { bytes, type Infer, oneOf, record, required, uint } from '../encoding/record.ts'
import { aid } from '../identity/aid.ts'

/** Random bytes of a handle secret, key 14 of a message head, objects §7. */
export const HANDLE_SECRET_BYTES = 32
/** Bytes of a handle, objects §9. */
export const HANDLE_BYTES = 16
const NONCE_BYTES = 12
const PADDED_BYTES = 512
const BODY_BYTES_MAX = 400

/** What became of a message at its recipient. */
export const dackCodes = {
  stored: 0,
  refusedByPolicy: 1,
  malformed: 2,
  times: 3,
  retiredKey: 4,
  ended: 5,
} as const
/** 0 to 5, key 7 of a confirmation, objects §9. */
export type DackCode = (typeof dackCodes)[keyof typeof dackCodes]

/** Keys 1 to 7 of a confirmation, objects §9; decoding throws {@link Malformed}. */
export const DackBody = record('delivery confirmation', {
  envelopeDigest: required(1, bytes(32)),
  messageId: required(2, bytes(16)),
  messageDigest: required(3, bytes(32)),
  recipient: required(4, aid),
  kelSeq: required(5, uint),
  tsMs: required(6, uint),
  code: required(7, oneOf<DackCode>(0, 1, 2, 3, 4, 5)),
})
/** Digests of 32 bytes, `messageId` of 16, `tsMs` in Unix milliseconds. */
export type DackBody = Infer<typeof DackBody>

/** `[body, sig]` by the recipient's identity key. */
export const Dack = signed('svc-dack/v1', DackBody, BODY_BYTES_MAX)
/** As parsed: its signature is not verified yet. */
export type Dack = Signed<DackBody>

/** The name under which the hub keeps the confirmation. */
export function dackHandle(handleSecret: Uint8Array): Uint8Array {
  sized(handleSecret, HANDLE_SECRET_BYTES, 'handle secret')
  return labelledHash('svc-dack-handle/v1', handleSecret).slice(0, HANDLE_BYTES)
}

/** Seals a confirmation to exactly 540 bytes; `nonce` is 12 fresh random bytes. */
export function sealDack(handleSecret: Uint8Array, nonce: Uint8Array, dack: Dack): Uint8Array {
  const padded = new Uint8Array(PADDED_BYTES)
  const encoded = Dack.encode(dack)
  if (encoded.length > PADDED_BYTES) throw new RangeError('delivery confirmation is over 512 bytes')
  padded.set(encoded)
  sized(nonce, NONCE_BYTES, 'nonce')
  return concat(nonce, chachaSeal(dackKey(handleSecret), nonce, dackHandle(handleSecret), padded))
}

/** Opens a confirmation; its signature is still to be verified with {@link Dack}. */
export function openDack(handleSecret: Uint8Array, sealed: Uint8Array): Dack {
  sized(sealed, DACK_BYTES, 'delivery confirmation')
  const nonce = sealed.subarray(0, NONCE_BYTES)
  const padded = chachaOpen(
    dackKey(handleSecret),
    nonce,
    dackHandle(handleSecret),
    sealed.subarray(NONCE_BYTES),
  )
  const { value, end } = decodeFirst(padded)
  if (padded.subarray(end).some(byte => byte !== 0)) throw new Malformed('padding is not zero')
  return Dack.read(value, 'delivery confirmation')
}

function dackKey(handleSecret: Uint8Array): Uint8Array {
  return hkdfSha256(handleSecret, utf8('svc-dack/v1'))
}
