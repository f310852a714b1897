/** What happens in the node, as ids and short summaries: a ring that clients replay from, and live listeners. */
import type { EventType } from '../../protocol/control/operations.ts'
import type { Timers } from '../../protocol/timers.ts'

export const EVENTS_KEPT_MAX = 1000

export type NodeEvent = { id: number; type: EventType; data: Record<string, string | number | boolean> }

export class Events {
  #kept: NodeEvent[] = []
  #nextId: number
  #listeners = new Set<(event: NodeEvent) => void>()
  readonly #timers: Timers

  /** Ids go on from the clock, so that a client of an earlier run notices the gap. */
  constructor(firstId: number, timers: Timers) {
    this.#nextId = firstId
    this.#timers = timers
  }

  get lastId(): number {
    return this.#nextId - 1
  }

  emit(type: EventType, data: NodeEvent['data'] = {}): void {
    const event = { id: this.#nextId++, type, data }
    this.#kept.push(event)
    if (this.#kept.length > EVENTS_KEPT_MAX) this.#kept.shift()
    for (const listener of this.#listeners) listener(event)
  }

  /** Tells who listens now, and keeps nothing: what goes on is told anew, what is over is an event of its own. */
  tell(type: EventType, data: NodeEvent['data']): void {
    for (const listener of this.#listeners) listener({ id: this.lastId, type, data })
  }

  /** Events after `id`; undefined when some of them are no longer kept. */
  since(id: number): NodeEvent[] | undefined {
    const first = this.#kept[0]?.id ?? this.#nextId
    if (!Number.isSafeInteger(id) || id + 1 < first || id > this.lastId) return undefined
    return this.#kept.filter(event => event.id > id)
  }

  listen(listener: (event: NodeEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Resolves with the next event that fits, or undefined after `ms`. */
  next(
    fits: (event: NodeEvent) => boolean,
    ms: number,
    signal?: AbortSignal,
  ): Promise<NodeEvent | undefined> {
    return new Promise(resolve => {
      const settle = (event: NodeEvent | undefined) => {
        this.#timers.clear(timer)
        stop()
        signal?.removeEventListener('abort', onAbort)
        resolve(event)
      }
      const onAbort = () => settle(undefined)
      const timer = this.#timers.after(ms, onAbort)
      const stop = this.listen(event => {
        if (fits(event)) settle(event)
      })
      signal?.addEventListener('abort', onAbort)
      if (signal?.aborted === true) onAbort()
    })
  }
}
