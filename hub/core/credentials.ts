/**
 * Judging what lets an envelope in (hub API §5.3): a session's MAC for a first contact, a capability with a proof for
 * everything later. All of it is settled from headers and envelope head, before a byte of content is read. A refused
 * capability never says which check failed, so that it can't be probed.
 */

import { sha256 } from '../../protocol/crypto/engine.node.ts'
import { concat } from '../../protocol/encoding/bytes.ts'
import type { KeySet } from '../../protocol/identity/keyset.ts'
import type { CapabilityAccess } from '../../protocol/mail/access.ts'
import { admittedBy } from '../../protocol/mail/admission.ts'
import { type Capability, type CapabilityBody, capabilityMessage } from '../../protocol/mail/capability.ts'
import { keyOf } from './bounded.ts'
import type { HubContext } from './context.ts'
import { INLINE_BYTES_MAX } from './limits.ts'
import type { Facts } from './ports/caches.ts'
import { Refusal } from './refusal.ts'

/** One of them takes about a hundred bytes. */
const VERIFIED_MAX = 16_384

export class CapabilityChecks {
  readonly #context: HubContext
  /** Hashes of what verified under a mailbox key, so nobody fills it with what no recipient signed. */
  readonly #verified: Facts<true>

  constructor(context: HubContext) {
    this.#context = context
    this.#verified = context.memory.caches.facts('capabilities', VERIFIED_MAX)
  }

  /** The capability's body when every check holds; else one refusal that says no more. */
  async judge(
    access: CapabilityAccess,
    recipient: { mailbox: number; aid: string; keys: KeySet },
    envelope: { digest: Uint8Array; size: number },
  ): Promise<CapabilityBody> {
    const { identity, verifier, store, now } = this.#context
    const { mailboxEpoch: epoch, mailboxKey } = recipient.keys.body
    // What is read at once is judged again where it is queued; a body that takes longer is judged here as well.
    const isLarge = envelope.size >= INLINE_BYTES_MAX
    const body = await admittedBy(
      access,
      { aid: recipient.aid, epoch, home: identity.aid },
      envelope,
      now(),
      {
        isRevoked: async id => isLarge && (await store.isRevoked(recipient.mailbox, id)),
        isSigned: capability => this.#isSigned(capability, mailboxKey),
        verify: (key, message, proof) => verifier.verify(key, message, proof),
      },
    )
    if (body === undefined) throw new Refusal('accessInvalid')
    return body
  }

  async #isSigned(capability: Capability, mailboxKey: Uint8Array): Promise<boolean> {
    const message = capabilityMessage(capability)
    const name = keyOf(sha256(concat(mailboxKey, capability.signature, message)))
    const isSigned = await this.#verified.find(name, async () => {
      const holds = await this.#context.verifier.verify(mailboxKey, message, capability.signature)
      return holds ? true : undefined
    })
    return isSigned === true
  }
}
