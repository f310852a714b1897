/** The task that somebody means by its id. */
import { refuse } from '../refusal.ts'
import type { Interaction, Threads } from '../store/threads.ts'
import type { Restored } from './restored.ts'

export class TaskFinder {
  readonly #threads: Threads
  readonly #restored: Restored

  constructor(threads: Threads, restored: Restored) {
    this.#threads = threads
    this.#restored = restored
  }

  find(id: string): Interaction | undefined {
    return this.#threads.findById(id)
  }

  /** The task as it stands now; where a restore lost it, that is said. */
  at(id: string): Interaction {
    return (
      this.find(id) ??
      refuse('unknown_interaction', this.#restored.sayLostHere(id) ?? `there is no interaction ${id}`)
    )
  }
}
