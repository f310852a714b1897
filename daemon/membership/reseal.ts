/**
 * After a rotation or a move: what must be made anew, and who must be told. Everything else in the outbox is resealed
 * on its next attempt, with the same id and digest.
 */

import { decodePayload, kinds } from '../../protocol/mail/payload.ts'
import type { Events } from '../platform/events.ts'
import { correspondents } from '../store/correspondents.ts'
import type { Store } from '../store/open.ts'
import { allEntries, sendAllAgain } from '../store/outbox.ts'
import { signaturesOnTheWay } from '../store/outbox-sizes.ts'
import { hurryPayments } from '../store/payments.ts'
import { introduceToAllAgain } from '../store/peers.ts'
import { ownReason } from '../store/reasons.ts'
import type { Interaction, Threads } from '../store/threads.ts'

/** What is signed under the key of this identity and was not confirmed yet; each of these makes it anew. */
export type SignedAnew = {
  receipt(interaction: Interaction): void
  counterSignature(interaction: Interaction, given: { withReceipt: boolean }): void
  /** Payments of tasks that nobody has seen. */
  payments(): void
  /** Delivery capabilities for a correspondent. */
  capabilities(peer: string): void
}

const DEACTIVATED = 'this identity was deactivated'

export class Reseal {
  readonly #store: Store
  readonly #threads: Threads
  readonly #events: Events
  readonly #anew: SignedAnew
  readonly #now: () => number

  constructor(parts: {
    store: Store
    threads: Threads
    events: Events
    anew: SignedAnew
    now: () => number
  }) {
    this.#store = parts.store
    this.#threads = parts.threads
    this.#events = parts.events
    this.#anew = parts.anew
    this.#now = parts.now
  }

  /** Replaces unconfirmed receipts and counter-signatures, which name a key state; they get new message ids. */
  remakeReceipts(): void {
    const [store, threads, anew] = [this.#store, this.#threads, this.#anew]
    store.transaction(() => {
      for (const { message, interaction: key, kind } of signaturesOnTheWay(store)) {
        threads.setDelivery(message, 'failed', 'replaced under the new key')
        const interaction = threads.byKey(key)
        if (kind === kinds.receipt) anew.receipt(interaction)
        else anew.counterSignature(interaction, { withReceipt: this.#bringsReceipt(message) })
      }
      introduceToAllAgain(store)
      sendAllAgain(store, this.#now())
      anew.payments()
      hurryPayments(store)
    }, 'node.rotate.outbox')
  }

  /** Whether a counter-signature goes to a provider that may have lost what it signs. */
  #bringsReceipt(key: number): boolean {
    const { kind, payload } = this.#threads.message(key)
    const decoded = decodePayload(kind, payload)
    return decoded.kind === kinds.counterSignature && decoded.payload.receipt !== undefined
  }

  /** Sends correspondents a message of kind 8: new log, key set and capabilities of the new mailbox. */
  announceMove(): void {
    const store = this.#store
    store.transaction(() => {
      introduceToAllAgain(store)
      for (const aid of correspondents(store)) this.#anew.capabilities(aid)
    }, 'node.move')
  }

  /** Nothing is sent after the end of an identity: what waits has failed, what lies at the hub is no longer followed. */
  end(): void {
    const [store, threads] = [this.#store, this.#threads]
    const reason = DEACTIVATED
    store.transaction(() => {
      for (const { message, state } of allEntries(store))
        threads.setDelivery(message, state === 'at_hub' ? 'unknown' : 'failed', reason)
      for (const interaction of threads.unfinished()) {
        threads.update(interaction, { state: 'failed', ...ownReason(reason) })
        const about = { interaction_id: interaction.id, peer: interaction.peer, state: 'failed' }
        store.afterCommit(() => this.#events.emit('message', about))
      }
    }, 'node.deactivated')
  }
}
