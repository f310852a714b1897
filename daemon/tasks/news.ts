/** What clients of this node hear of its tasks, each once it is durable; inside a transaction of the caller. */
import { present } from '../../protocol/encoding/present.ts'
import type { Events } from '../platform/events.ts'
import type { Store } from '../store/open.ts'
import type { DeliveryState, Interaction } from '../store/threads.ts'

export class TaskNews {
  readonly #store: Store
  readonly #events: Events

  constructor(store: Store, events: Events) {
    this.#store = store
    this.#events = events
  }

  /** A task came, or this side took a step in it. */
  step({ id, peer, state }: Interaction): void {
    this.#emit('inbox', { interaction_id: id, peer, state })
  }

  /** The other side said something, or something became of the task. `kind`: of its message. */
  heard({ id, peer, state }: Interaction, kind?: number): void {
    this.#emit('message', { interaction_id: id, peer, state, ...present({ kind }) })
  }

  /** What became of a message of the task. */
  delivery({ id }: Interaction, number: number, state: DeliveryState): void {
    this.#emit('delivery', { interaction_id: id, number, state })
  }

  #emit(type: 'inbox' | 'message' | 'delivery', about: Record<string, string | number>): void {
    this.#store.afterCommit(() => this.#events.emit(type, about))
  }
}
