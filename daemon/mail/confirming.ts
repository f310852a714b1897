/**
 * The peer's signed word that it holds our numbers. It names numbers and no digests, so it proves nothing of what was
 * numbered since this store came from a backup: the peer may hold another message under that number.
 */
import type { MessageBody } from '../../protocol/mail/message.ts'
import { MISSING_MAX } from '../../protocol/mail/payload.ts'
import type { Store } from '../store/open.ts'
import type { Interaction, Threads } from '../store/threads.ts'
import { unprovenUpTo } from '../store/transcripts.ts'
import type { Deliveries } from '../tasks/delivery.ts'
import type { Claims } from './claims.ts'
import type { AskedNumbers } from './numbers.ts'
import type { ToldNumbers } from './told-numbers.ts'

type ConfirmingParts = {
  store: Store
  threads: Threads
  claims: Claims
  deliveries: Deliveries
  asked: AskedNumbers
  told: ToldNumbers
}

export class Confirming {
  readonly #parts: ConfirmingParts

  constructor(parts: ConfirmingParts) {
    this.#parts = parts
  }

  /** "All up to here is stored" proves the delivery of what is certain at once. */
  byAnswer(interaction: Interaction, body: MessageBody): void {
    const { store, claims, deliveries, told } = this.#parts
    const { storedUpTo } = body
    told.takeWord(interaction, body)
    if (this.#isAhead(interaction, storedUpTo)) return
    claims.drop(interaction)
    for (const { key } of unprovenUpTo(store, interaction.key, storedUpTo)) deliveries.note(key)
  }

  /** The peer's last message names what it lacks below the highest number it holds; it holds the rest. */
  byLists(
    interaction: Interaction,
    { peerHighest, missing }: { peerHighest: number; missing: readonly number[] },
  ): void {
    const { store, deliveries } = this.#parts
    if (this.#isAhead(interaction, peerHighest) || missing.length === MISSING_MAX) return
    const lacked = new Set(missing)
    for (const { key, number } of unprovenUpTo(store, interaction.key, peerHighest))
      if (!lacked.has(number)) deliveries.note(key)
  }

  /** Whether the peer holds more than was sent from here: then no number of it is known to stand for a message of ours. */
  #isAhead(interaction: Interaction, upTo: number): boolean {
    const { threads, claims, asked } = this.#parts
    if (upTo <= threads.byKey(interaction.key).numbered) return false
    claims.note(interaction.peer, interaction)
    asked.doubt(interaction)
    return true
  }
}
