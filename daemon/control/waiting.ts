/** Waiting for the other sides: until a list holds news, or a task is where somebody wants it. */
import type { Events } from '../platform/events.ts'
import type { Interaction, Threads } from '../store/threads.ts'
import { type Changes, cursorOf } from './changes.ts'
import type { Listing, ListRequest, Lists } from './listing.ts'

type WaitingParts = {
  lists: Lists
  changes: Changes
  threads: Threads
  events: Events
  now: () => number
}

export class Waiting {
  readonly #lists: Lists
  readonly #changes: Changes
  readonly #threads: Threads
  readonly #events: Events
  readonly #now: () => number

  constructor(parts: WaitingParts) {
    this.#lists = parts.lists
    this.#changes = parts.changes
    this.#threads = parts.threads
    this.#events = parts.events
    this.#now = parts.now
  }

  /**
   * The list at once when it holds news: a change since its cursor or, without one, something unread. Else once the other
   * side of one of its tasks has done something, or the time asked for is over.
   */
  async list(given: ListRequest, waitSeconds: number | undefined, signal: AbortSignal): Promise<Listing> {
    const first = this.#lists.of(given)
    const cursor = given.cursor === undefined ? undefined : cursorOf(given.cursor)
    if (!waitSeconds || cursor?.kind === 'page') return first
    const isNews = cursor === undefined ? first.items.some(item => item.unread > 0) : first.items.length > 0
    if (isNews) return first
    const since = cursor ?? this.#changes.moment()
    const until = this.#now() + waitSeconds * 1000
    for (;;) {
      const left = until - this.#now()
      if (left > 0 && !signal.aborted)
        await this.#events.next(event => event.type === 'inbox' || event.type === 'message', left, signal)
      const isOver = until <= this.#now() || signal.aborted
      if (isOver || this.#changes.since(given.side, since, 1).keys.length > 0) return this.#lists.of(given)
    }
  }

  /** Until one of them is reached: what is waited for, the time, the end of the call. */
  async until(
    id: string,
    seconds: number,
    signal: AbortSignal,
    reached: (interaction: Interaction) => boolean,
  ): Promise<void> {
    const until = this.#now() + seconds * 1000
    for (;;) {
      const interaction = this.#threads.findById(id)
      const left = until - this.#now()
      if (interaction === undefined || reached(interaction) || left <= 0 || signal.aborted) return
      await this.#events.next(event => event.data['interaction_id'] === id, left, signal)
    }
  }
}
