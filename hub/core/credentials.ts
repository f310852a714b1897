/**
 * Judging what lets an envelope in (hub API §5.3): a session's MAC for a first contact, a capability with a proof for
 * everything later. All of it is settled from headers and envelope head, before a byte of content is read. A refused
 * capability never says which check failed, so that it can't be probed.
 */

import { equal, Malformed, toHex } from '../../protocol/encoding/bytes.ts'
import type { KeySet } from '../../protocol/identity/keyset.ts'
import type { CapabilityAccess } from '../../protocol/mail/access.ts'
import {
  type Capability,
  type CapabilityBody,
  CapabilityBody as CapabilityRecord,
  capabilityMessage,
  isWithinLife,
  useMessage,
} from '../../protocol/mail/capability.ts'
import { makeRoom } from './bounded.ts'
import type { HubContext } from './context.ts'
import { INLINE_BYTES_MAX } from './limits.ts'
import { Refusal } from './refusal.ts'

/** One of them takes about a KiB. */
const KEPT_MAX = 8192

/** A capability as it was decoded, and the mailbox key under which its signature held. */
type Kept = { capability: Capability; mailboxKey: Uint8Array }

export class Capabilities {
  readonly #context: HubContext
  /** By signature; only what verified is kept, so nobody fills it with what no recipient signed. */
  readonly #kept = new Map<string, Kept>()

  constructor(context: HubContext) {
    this.#context = context
  }

  /** The capability's body when every check holds; else one refusal that says no more. */
  async judge(
    access: CapabilityAccess,
    recipient: { mailbox: number; aid: string; keys: KeySet },
    envelope: { digest: Uint8Array; size: number },
  ): Promise<CapabilityBody> {
    const name = toHex(access.capabilitySignature)
    const capability = this.#decode(access, name)
    const { body } = capability
    const { keys } = recipient
    if (body.recipient !== recipient.aid || envelope.size > body.bytesMax) throw new Refusal('accessInvalid')
    if (!isWithinLife(body, this.#context.now())) throw new Refusal('accessInvalid')
    if (!equal(body.epoch, keys.body.mailboxEpoch)) throw new Refusal('accessInvalid')
    // What is read at once is judged again where it is queued; a body that takes longer is judged here as well.
    const large = envelope.size >= INLINE_BYTES_MAX
    if (large && (await this.#context.store.isRevoked(recipient.mailbox, body.id)))
      throw new Refusal('accessInvalid')
    if (!(await this.#isSigned(capability, name, keys.body.mailboxKey))) throw new Refusal('accessInvalid')
    const message = useMessage(this.#context.identity.aid, envelope.digest)
    if (!(await this.#context.verifier.verify(body.holderKey, message, access.proof)))
      throw new Refusal('accessInvalid')
    return body
  }

  /** The very same bytes were decoded before, or are decoded now. */
  #decode(access: CapabilityAccess, name: string): Capability {
    const kept = this.#kept.get(name)?.capability
    return kept !== undefined && equal(kept.bodyBytes, access.capabilityBody)
      ? kept
      : decodeCapability(access)
  }

  async #isSigned(capability: Capability, name: string, mailboxKey: Uint8Array): Promise<boolean> {
    const kept = this.#kept.get(name)
    if (kept?.capability === capability && equal(kept.mailboxKey, mailboxKey)) return true
    const message = capabilityMessage(capability)
    if (!(await this.#context.verifier.verify(mailboxKey, message, capability.signature))) return false
    makeRoom(this.#kept, KEPT_MAX)
    this.#kept.set(name, { capability, mailboxKey })
    return true
  }
}

/** Decoded from a copy of its own, because it may be kept for longer than the request. */
function decodeCapability(access: CapabilityAccess): Capability {
  try {
    const bodyBytes = new Uint8Array(access.capabilityBody)
    return {
      body: CapabilityRecord.decode(bodyBytes),
      bodyBytes,
      signature: new Uint8Array(access.capabilitySignature),
    }
  } catch (error) {
    if (error instanceof Malformed) throw new Refusal('accessInvalid')
    throw error
  }
}
