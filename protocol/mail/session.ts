/**
 * The relay session of a first contact (objects: session): a MAC key that the hub seals to a fresh key of the sender.
 * What travels on with the envelope holds nothing of it, so the recipient's hub and the recipient learn no sender.
 */
import { equalSecret, hmacSha256, sha256 } from '#crypto'
import { labelled } from '../crypto/hash.ts'
import { open, seal } from '../crypto/hpke.ts'
import { concat, sized, u64be, utf8 } from '../encoding/bytes.ts'
import { bytes, type Infer, record, required, uint } from '../encoding/record.ts'
import { aidBytes } from '../identity/aid.ts'

/** Random bytes of a session id, objects §3. */
export const SESSION_ID_BYTES = 16
const NO_AAD = new Uint8Array(0)
const MAC_LABEL = concat(utf8('svc-session-mac/v1'), Uint8Array.of(0))

/** What the hub grants: the MAC key, how many envelopes, until when. */
export const SessionGrant = record('session grant', {
  macKey: required(1, bytes(32)),
  quota: required(2, uint),
  expMs: required(3, uint),
})
/** `macKey` of 32 bytes, `quota` in envelopes, `expMs` in Unix milliseconds (objects §8). */
export type SessionGrant = Infer<typeof SessionGrant>

/** Whom a grant is for. */
export type SessionNames = { hub: string; sid: Uint8Array; aid: string }

/** What a session MAC covers; `access` is the record as sent. */
export type SessionUse = { sid: Uint8Array; tsMs: number; envelopeDigest: Uint8Array; access: Uint8Array }

/** The hub's side: seals the grant to the sender's `epk`. */
export function sealSession(
  epk: Uint8Array,
  names: SessionNames,
  grant: SessionGrant,
): { enc: Uint8Array; ciphertext: Uint8Array } {
  return seal(epk, sessionInfo(names), NO_AAD, SessionGrant.encode(grant))
}

/** The sender's side: opens the grant with the seed of its `epk`. */
export function openSession(
  seed: Uint8Array,
  names: SessionNames,
  enc: Uint8Array,
  ciphertext: Uint8Array,
): SessionGrant {
  return SessionGrant.decode(open(seed, enc, sessionInfo(names), NO_AAD, ciphertext))
}

/** `X-Svc-MAC`: HMAC-SHA256, 32 bytes, over what {@link SessionUse} holds (objects §8). */
export function sessionMac(macKey: Uint8Array, use: SessionUse): Uint8Array {
  return hmacSha256(
    macKey,
    concat(MAC_LABEL, use.sid, u64be(use.tsMs), use.envelopeDigest, sha256(use.access)),
  )
}

/** Compares in constant time. */
export function verifySessionMac(macKey: Uint8Array, use: SessionUse, mac: Uint8Array): boolean {
  return equalSecret(sessionMac(macKey, use), mac)
}

function sessionInfo({ hub, sid, aid }: SessionNames): Uint8Array {
  return labelled('svc-session/v1', aidBytes(hub), sized(sid, SESSION_ID_BYTES, 'sid'), aidBytes(aid))
}
