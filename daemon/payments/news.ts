/** Says that the payment of a task has changed, once that is on the disk. */
import { kinds } from '../../protocol/mail/payload.ts'
import type { Events } from '../platform/events.ts'
import type { Store } from '../store/open.ts'
import type { Interaction, Threads } from '../store/threads.ts'

export class PaymentNews {
  readonly #store: Store
  readonly #threads: Threads
  readonly #events: Events

  constructor(store: Store, threads: Threads, events: Events) {
    this.#store = store
    this.#threads = threads
    this.#events = events
  }

  /** By the key of its task. */
  changed(key: number): void {
    const { id: interaction_id, peer } = this.#threads.byKey(key)
    this.#store.afterCommit(() => this.#events.emit('message', { interaction_id, peer }))
  }

  /** The price of a task was judged. */
  priced({ id: interaction_id }: Interaction): void {
    this.#store.afterCommit(() => this.#events.emit('message', { interaction_id, kind: kinds.quote }))
  }

  /** Credits came back, or went back, which the account at the hub shows. */
  movedBack({ id: interaction_id, peer }: Interaction): void {
    this.#store.afterCommit(() => this.#events.emit('message', { interaction_id, peer }))
    this.#store.afterCommit(() => this.#events.emit('hub'))
  }
}
