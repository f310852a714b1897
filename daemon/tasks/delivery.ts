/** Proof that a message is stored by its recipient, and what follows from it. Runs inside a transaction of the caller. */
import { kinds } from '../../protocol/mail/payload.ts'
import type { Store } from '../store/open.ts'
import { outboxEntry } from '../store/outbox.ts'
import { noteIntroduced } from '../store/peers.ts'
import type { Threads } from '../store/threads.ts'
import type { TaskNews } from './news.ts'

export class Deliveries {
  readonly #store: Store
  readonly #threads: Threads
  readonly #news: TaskNews

  constructor(store: Store, threads: Threads, news: TaskNews) {
    this.#store = store
    this.#threads = threads
    this.#news = news
  }

  /** A message is proven to be stored by its recipient. */
  note(key: number): void {
    const [store, threads] = [this.#store, this.#threads]
    const entry = outboxEntry(store, key)
    if (!threads.setDelivery(key, 'delivered')) return
    const message = threads.message(key)
    if (entry !== undefined && entry.introduces !== null) noteIntroduced(store, entry.peer, entry.introduces)
    if (message.interaction === null) return
    const interaction = threads.byKey(message.interaction)
    if (message.kind === kinds.delegate && interaction.state === 'queued')
      threads.update(interaction, { state: 'delivered' })
    this.#news.delivery(interaction, message.number, 'delivered')
  }
}
