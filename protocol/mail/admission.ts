/**
 * What lets an envelope in, judged from its head and the credential beside it (hub API §5.3): the same wherever it is handed
 * in, at a hub or at the recipient itself. Whoever takes envelopes brings what it remembers, as ports.
 */
import { equal, Malformed } from '../encoding/bytes.ts'
import type { KeySet } from '../identity/keyset.ts'
import type { CapabilityAccess } from './access.ts'
import { type Capability, CapabilityBody, isWithinLife, proofMessage } from './capability.ts'
import { type EnvelopeHead, EXP_AHEAD_MS, EXP_SKEW_MS } from './envelope.ts'

/** What the head alone decides against an envelope, wherever it goes. */
export type HeadFault = 'other_access' | 'expired' | 'expiry_too_far'

/** `access`: the credential that came beside the envelope; undefined where nothing speaks against it. */
export function headFault(
  head: Pick<EnvelopeHead, 'access' | 'expMs'>,
  access: Uint8Array,
  nowMs: number,
): HeadFault | undefined {
  if (!equal(head.access, access)) return 'other_access'
  if (head.expMs <= nowMs) return 'expired'
  return head.expMs > nowMs + EXP_AHEAD_MS + EXP_SKEW_MS ? 'expiry_too_far' : undefined
}

/** The present set of a recipient, and the one before it, which counts until then. */
export type AcceptedKeys = { keys: KeySet | undefined; before: KeySet | undefined; beforeUntilMs: number }

/** The kids of the present key set, and for a while those of the one before it. */
export function isKidAccepted(
  { keys, before, beforeUntilMs }: AcceptedKeys,
  kid: Uint8Array,
  nowMs: number,
): boolean {
  const holds = (set: KeySet | undefined): boolean => set?.body.keys.some(key => equal(key.kid, kid)) === true
  if (holds(keys) && nowMs <= (keys?.body.exp ?? 0)) return true
  return nowMs < beforeUntilMs && holds(before)
}

/** For whom an envelope is: `home` is the hub that its proof names, both AIDs. */
export type Admitting = { aid: string; epoch: Uint8Array; home: string }

/** What whoever takes envelopes remembers, and how it verifies. */
export type CapabilityPorts = {
  isRevoked(id: Uint8Array): boolean | Promise<boolean>
  /** Whether the mailbox key of the recipient signed it. */
  isSigned(capability: Capability): boolean | Promise<boolean>
  verify(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean | Promise<boolean>
}

/** The capability's body when every check holds, in the order of the specification; else nothing that says which failed. */
export async function admittedBy(
  access: CapabilityAccess,
  { aid, epoch, home }: Admitting,
  envelope: { digest: Uint8Array; size: number },
  nowMs: number,
  ports: CapabilityPorts,
): Promise<CapabilityBody | undefined> {
  const capability = decoded(access)
  if (capability === undefined) return undefined
  const { body } = capability
  if (body.recipient !== aid || envelope.size > body.bytesMax) return undefined
  if (!isWithinLife(body, nowMs) || !equal(body.epoch, epoch)) return undefined
  if (await ports.isRevoked(body.id)) return undefined
  if (!(await ports.isSigned(capability))) return undefined
  const isProven = await ports.verify(body.holderKey, proofMessage(home, envelope.digest), access.proof)
  return isProven ? body : undefined
}

function decoded({ capabilityBody, capabilitySignature }: CapabilityAccess): Capability | undefined {
  try {
    const body = CapabilityBody.decode(capabilityBody)
    return { body, bodyBytes: capabilityBody, signature: capabilitySignature }
  } catch (error) {
    if (error instanceof Malformed) return undefined
    throw error
  }
}
