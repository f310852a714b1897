/**
 * Whom this node gives capabilities: contacts, and the other side of a task that its user gave or took. A stranger
 * whose task waits for approval, or whose call was answered without anybody's approval, gets none.
 */
import { publicKey } from '#crypto'
import { equal } from '../../protocol/encoding/bytes.ts'
import type { VerifiedKeySet } from '../../protocol/identity/keyset.ts'
import { Capability, endsWithDay, type GrantedCapability } from '../../protocol/mail/capability.ts'
import { hasSharedTaskWith } from '../store/correspondents.ts'
import type { Store } from '../store/open.ts'
import type { DeliveryCapabilities } from './capabilities.ts'
import type { Contacts } from './contacts.ts'

export function mayHoldCapabilities(
  { contacts, store }: { contacts: Contacts; store: Store },
  peer: string,
): boolean {
  if (contacts.isBlocked(peer)) return false
  return contacts.isContact(peer) || hasSharedTaskWith(store, peer)
}

/** What peers hold of ours that may hold nothing of it. */
export class StrangersStock {
  readonly #contacts: Contacts
  readonly #store: Store
  readonly #capabilities: DeliveryCapabilities

  constructor(contacts: Contacts, store: Store, capabilities: DeliveryCapabilities) {
    this.#contacts = contacts
    this.#store = store
    this.#capabilities = capabilities
  }

  /** Notes that what this peer holds is to be taken back; false where it may hold it. Inside a transaction. */
  takeBack(peer: string): boolean {
    if (mayHoldCapabilities({ contacts: this.#contacts, store: this.#store }, peer)) return false
    this.#capabilities.revokeIssued(peer)
    return true
  }
}

/** Of the capabilities that came with a message, those of the mailbox that its sender has, with the seed that fits. */
export function genuineGrants(
  keys: VerifiedKeySet | undefined,
  granted: readonly GrantedCapability[],
): GrantedCapability[] {
  if (keys === undefined) return []
  const { mailboxKey, mailboxEpoch } = keys.body
  return granted.filter(
    ({ capability, holderSeed }) =>
      endsWithDay(capability.body) &&
      equal(capability.body.epoch, mailboxEpoch) &&
      equal(capability.body.holderKey, publicKey(holderSeed)) &&
      Capability.verify(mailboxKey, capability),
  )
}
