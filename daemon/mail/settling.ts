/** A message that is settled, with a state that says why: refused, past its time, or given up and taken up again. */
import type { CurrentHub } from '../hubs/current.ts'
import type { DeliveryCapabilities } from '../peers/capabilities.ts'
import { keepLasting, lasting } from '../store/lasting.ts'
import { unknownSince } from '../store/messages.ts'
import type { Store } from '../store/open.ts'
import { type OutboxEntry, overdueEntries, queuedOf } from '../store/outbox.ts'
import { ownReason } from '../store/reasons.ts'
import { type DeliveryState, MESSAGE_DEADLINE_MS, type Threads } from '../store/threads.ts'
import type { TaskNews } from '../tasks/news.ts'
import { isOver } from '../tasks/standing.ts'

const DAYS = MESSAGE_DEADLINE_MS / 86_400_000
const OVERDUE = `not known to have arrived within ${DAYS} days, after which it is tried no more`

type SettlingParts = {
  store: Store
  threads: Threads
  capabilities: DeliveryCapabilities
  hub: CurrentHub
  news: TaskNews
}

export class Settling {
  readonly #parts: SettlingParts
  readonly #now: () => number

  constructor(parts: SettlingParts, now: () => number) {
    this.#parts = parts
    this.#now = now
  }

  /** The message is settled, for a reason in words of this node; a task that did not get through is over. */
  finish(entry: OutboxEntry, state: DeliveryState, reason: string): void {
    const { store, threads, capabilities } = this.#parts
    store.transaction(() => {
      if (!threads.setDelivery(entry.message, state, reason)) return
      capabilities.forgetIssued(entry.peer)
      const message = threads.message(entry.message)
      if (message.interaction !== null && message.number === 1 && message.kind === 0) {
        const interaction = threads.byKey(message.interaction)
        const became = state === 'failed' ? 'failed' : 'expired'
        if (interaction.state === 'queued')
          threads.update(interaction, { state: became, ...ownReason(reason) })
      }
      this.announce(entry, state)
    }, 'node.finish')
  }

  /** The other side of a task is gone, and has no key to sign that with: what is still here fails, and the task is over. */
  endLeft(entry: OutboxEntry, reason: string): void {
    const { store, threads, news } = this.#parts
    store.transaction(() => {
      this.finish(entry, 'failed', reason)
      if (entry.interaction === null) return
      for (const message of queuedOf(store, entry.interaction)) threads.setDelivery(message, 'failed', reason)
      const interaction = threads.byKey(entry.interaction)
      if (isOver(interaction)) return
      const over = { state: 'ended', endBy: 'peer', receiptState: 'none', ...ownReason(reason) } as const
      news.heard(threads.update(interaction, over))
    }, 'node.finish')
  }

  /** Settles a message whose time is over; false while it is not. */
  endIfOverdue(entry: OutboxEntry): boolean {
    const now = this.#now()
    if (now < entry.deadlineAt) return false
    this.finish(entry, 'unknown', OVERDUE)
    keepLasting(this.#parts.store, { gaveUpAt: now })
    return true
  }

  /** Settles what is past its time and of which no hub will say more, as where there is none to ask. */
  endOverdue(): void {
    const { store, hub } = this.#parts
    const asks = hub.home !== undefined && hub.home.stopped === undefined
    for (const entry of overdueEntries(store, this.#now()))
      if (entry.state === 'queued' || !asks) this.endIfOverdue(entry)
  }

  /** A clock that ran ahead gave messages up before their time: once it is right they go again. */
  takeUpGivenUp(): void {
    const { store, threads } = this.#parts
    const gaveUpAt = lasting(store, 'gaveUpAt')
    const now = this.#now()
    if (gaveUpAt === undefined || gaveUpAt <= now) return
    for (const key of unknownSince(store, now - MESSAGE_DEADLINE_MS)) threads.queueAgain(key)
    keepLasting(store, { gaveUpAt: null })
  }

  /** Tells listeners what became of a message of an interaction. */
  announce(entry: OutboxEntry, state: DeliveryState): void {
    if (entry.interaction === null) return
    const { threads, news } = this.#parts
    news.delivery(threads.byKey(entry.interaction), threads.message(entry.message).number, state)
  }
}
