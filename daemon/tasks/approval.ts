/** A task that waited for a yes of this node's person. */
import type { Waker } from '../platform/waker.ts'
import { refuse } from '../refusal.ts'
import type { Store } from '../store/open.ts'
import type { Interaction, Threads } from '../store/threads.ts'
import type { TaskNews } from './news.ts'

type ApprovalParts = {
  store: Store
  threads: Threads
  news: TaskNews
  topUps: { note(peer: string): void }
  calls: Waker
}

export class Approval {
  readonly #parts: ApprovalParts

  constructor(parts: ApprovalParts) {
    this.#parts = parts
  }

  /** Takes the task; inside a transaction. */
  take(interaction: Interaction): Interaction {
    const { store, threads, news, topUps, calls } = this.#parts
    if (interaction.state !== 'pending')
      refuse('wrong_state', `this interaction is ${interaction.state}, not pending`)
    const taken = threads.update(interaction, { state: interaction.endBy === null ? 'open' : 'end_proposed' })
    news.step(taken)
    store.afterCommit(() => {
      topUps.note(interaction.peer)
      calls.wake()
    })
    return taken
  }
}
