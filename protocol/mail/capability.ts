/**
 * Capabilities (objects: capability): the delivery credential that a recipient issues under its mailbox key. It names
 * no sender; whoever knows the holder key may use it, once proven for that very envelope at that very hub.
 */

import { labelled, labelledSign, labelledVerify } from '../crypto/hash.ts'
import { SIGNATURE_BYTES, type Signed, signed } from '../crypto/signed.ts'
import { concat } from '../encoding/bytes.ts'
import {
  blob,
  bytes,
  type Field,
  type Infer,
  literal,
  mapped,
  record,
  required,
  tuple,
  uint,
} from '../encoding/record.ts'
import { aid, aidBytes } from '../identity/aid.ts'

/** Random bytes of a capability id, objects §3. */
export const CAPABILITY_ID_BYTES = 16
/** Bytes of a mailbox epoch, which is compared for equality only, objects §5. */
export const EPOCH_BYTES = 16
const DAY_MS = 86_400_000
/** How far ahead a capability may end: 31 days in milliseconds, objects §8. */
export const CAPABILITY_LIFE_MAX_MS = 31 * DAY_MS
/** Capabilities in one message head at most, objects §7. */
export const CAPABILITIES_PER_MESSAGE_MAX = 16
/** A capability issued by a clock slightly ahead of the hub's is still within its life. */
const SKEW_MS = 5 * 60_000
const BODY_BYTES_MAX = 512
const USE_LABEL = 'svc-cap-use/v1'

/** Keys 1 to 8 of a capability, objects §8; decoding throws Malformed. */
export const CapabilityBody = record('capability', {
  v: required(1, literal(1)),
  id: required(2, bytes(CAPABILITY_ID_BYTES)),
  recipient: required(3, aid),
  epoch: required(4, bytes(EPOCH_BYTES)),
  holderKey: required(5, bytes(32)),
  expMs: required(6, uint),
  usesPerDayMax: required(7, uint),
  bytesMax: required(8, uint),
})
/** `expMs` is 00:00 UTC in Unix milliseconds, `usesPerDayMax` of a UTC day, `bytesMax` of one envelope. */
export type CapabilityBody = Infer<typeof CapabilityBody>

/** `[body, sig]` by the mailbox key of the recipient. */
export const Capability = signed('svc-cap/v1', CapabilityBody, BODY_BYTES_MAX)
/** As parsed: its signature is not verified yet. */
export type Capability = Signed<CapabilityBody>

/** A capability as it is handed out in a sealed head: with the seed of its holder key. */
export type GrantedCapability = { capability: Capability; holderSeed: Uint8Array }

/** `[body, sig, holder seed]`. */
export const grantedCapability: Field<GrantedCapability> = mapped(
  tuple<[Uint8Array, Uint8Array, Uint8Array]>(blob(BODY_BYTES_MAX), bytes(SIGNATURE_BYTES), bytes(32)),
  ([bodyBytes, signature, holderSeed]): GrantedCapability => ({
    capability: { body: CapabilityBody.decode(bodyBytes), bodyBytes, signature },
    holderSeed,
  }),
  ({ capability, holderSeed }): [Uint8Array, Uint8Array, Uint8Array] => [
    capability.bodyBytes,
    capability.signature,
    holderSeed,
  ],
)

/** The holder's proof that it uses the capability for this envelope at the recipient's home hub. */
export function proveUse(holderSeed: Uint8Array, homeHub: string, envelopeDigest: Uint8Array): Uint8Array {
  return labelledSign(USE_LABEL, holderSeed, concat(aidBytes(homeHub), envelopeDigest))
}

/** The bytes a proof signs, for callers that verify on the thread pool. */
export function proofMessage(homeHub: string, envelopeDigest: Uint8Array): Uint8Array {
  return labelled(USE_LABEL, aidBytes(homeHub), envelopeDigest)
}

/** The bytes the mailbox key signs, for callers that verify on the thread pool. */
export function capabilityMessage(capability: Capability): Uint8Array {
  return labelled(Capability.label, capability.bodyBytes)
}

/** Whether `proof`, 64 bytes by the holder key, is for this envelope digest at this hub (AID), objects §8. */
export function verifyUse(
  capability: CapabilityBody,
  homeHub: string,
  envelopeDigest: Uint8Array,
  proof: Uint8Array,
): boolean {
  return labelledVerify(USE_LABEL, capability.holderKey, concat(aidBytes(homeHub), envelopeDigest), proof)
}

/** Whether it ends at 00:00 UTC: a finer time would name its batch, and so its sender, to every hub on the way. */
export const endsWithDay = ({ expMs }: Pick<CapabilityBody, 'expMs'>): boolean => expMs % DAY_MS === 0

/** The latest end of a capability that is issued now. */
export const latestEnd = (nowMs: number): number =>
  Math.floor((nowMs + CAPABILITY_LIFE_MAX_MS) / DAY_MS) * DAY_MS

/** From when on a capability lives no longer than it may: later than now where a clock ran ahead when it was issued. */
export const lifeBeginsMs = ({ expMs }: Pick<CapabilityBody, 'expMs'>): number =>
  expMs - CAPABILITY_LIFE_MAX_MS - SKEW_MS

/** Ends with a day, is not yet over, and lives no longer than a capability may. */
export function isWithinLife(capability: CapabilityBody, nowMs: number): boolean {
  return endsWithDay(capability) && capability.expMs > nowMs && lifeBeginsMs(capability) <= nowMs
}
