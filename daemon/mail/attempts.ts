/** One attempt to send a message: handed to the carrier, and what comes of it kept. */
import type { Carriers, Delivered, SignedVerdict } from '../carrier/carrier.ts'
import { reasonOf } from '../hubs/failures.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { Machine } from '../platform/machine.ts'
import { noteDirect } from '../store/messages.ts'
import type { Store } from '../store/open.ts'
import { markAtHub, type OutboxEntry } from '../store/outbox.ts'
import type { Threads } from '../store/threads.ts'
import type { Deliveries } from '../tasks/delivery.ts'
import type { Fates } from './fates.ts'
import type { ReturnedHeads } from './heads.ts'
import type { Resending } from './resending.ts'
import type { Settling } from './settling.ts'
import { statusPause } from './status-queries.ts'

const QUIET = 'the recipient has collected no mail for an hour or more, as the hub says; it waits there'

type AttemptParts = {
  store: Store
  threads: Threads
  deliveries: Deliveries
  fates: Fates
  carriers: Carriers
  settling: Settling
  resending: Resending
  heads: ReturnedHeads
}

/** Whether the hub was reached; undefined where the attempt ended before that. */
export type Attempted = { reached: boolean | undefined }

export class Attempts {
  readonly #parts: AttemptParts
  readonly #machine: Machine
  readonly #taken: () => void

  /** `taken`: a hub took a message. */
  constructor(parts: AttemptParts, machine: Machine, taken: () => void) {
    this.#parts = parts
    this.#machine = machine
    this.#taken = taken
  }

  /** Whatever comes of it stands in the store when this resolves. */
  async make(hub: HubClient, entry: OutboxEntry): Promise<Attempted> {
    const { settling, resending, carriers } = this.#parts
    if (settling.endIfOverdue(entry)) return { reached: undefined }
    const delivered = await carriers.over(hub).deliver(entry)
    try {
      this.#settle(entry, delivered)
    } catch (error) {
      resending.retry(entry, { why: reasonOf(error) })
    }
    if (delivered.outcome === 'at_hub') this.#taken()
    return { reached: delivered.reached }
  }

  #settle(entry: OutboxEntry, delivered: Delivered): void {
    const { settling, resending } = this.#parts
    if (delivered.outcome === 'at_hub') this.#atHub(entry, delivered)
    else if (delivered.outcome === 'taken') this.#takenBy(entry, delivered)
    else if (delivered.outcome === 'judged') this.#judged(entry, delivered.fate)
    else if (delivered.outcome === 'again') resending.retry(entry, delivered)
    else if (delivered.outcome === 'final') settling.finish(entry, 'failed', delivered.reason)
    else if (delivered.outcome === 'left') settling.endLeft(entry, delivered.reason)
  }

  /** The recipient has it, which proves more than a hub that took it. */
  #takenBy({ message, peer }: OutboxEntry, { isDirect }: Extract<Delivered, { outcome: 'taken' }>): void {
    const { store, deliveries, heads } = this.#parts
    store.transaction(() => {
      if (isDirect) noteDirect(store, message)
      deliveries.note(message)
      heads.giveBack(peer)
    }, 'node.confirm')
  }

  #judged(entry: OutboxEntry, fate: SignedVerdict): void {
    const { store, fates, heads } = this.#parts
    store.transaction(() => {
      fates.take(entry, fate)
      heads.giveBack(entry.peer)
    }, 'node.confirm')
  }

  #atHub(entry: OutboxEntry, { at, isQuiet }: Extract<Delivered, { outcome: 'at_hub' }>): void {
    const { store, threads, settling, heads } = this.#parts
    const { now, random } = this.#machine
    // lost with the power, the message is sent anew, and the recipient knows it
    store.unflushed(() => {
      const sent = { ...at, nextAt: now() + statusPause(random, 0), lastError: isQuiet ? QUIET : null }
      // Settled in the meantime, by a proof of delivery or because it was made anew.
      if (!markAtHub(store, entry.message, sent)) return
      threads.setDelivery(entry.message, 'at_hub')
      settling.announce(entry, 'at_hub')
      heads.giveBack(entry.peer)
    }, 'node.send')
  }
}
