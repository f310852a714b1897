/** What becomes of a call: it is answered, or left to whoever answers in words. */
import type { PaidAnswer } from '../payments/payee.ts'
import { dropPrice } from '../payments/priced-tasks.ts'
import { markCallBegun } from '../store/interactions.ts'
import type { Store } from '../store/open.ts'
import type { Interaction, Threads } from '../store/threads.ts'
import type { Effects } from './dispatch.ts'
import type { Endings } from './endings.ts'
import type { TaskNews } from './news.ts'

type ResultParts = { store: Store; threads: Threads; effects: Effects; endings: Endings; news: TaskNews }

export class CallResults {
  readonly #parts: ResultParts

  constructor(parts: ResultParts) {
    this.#parts = parts
  }

  /** Answers, unless the call was withdrawn meanwhile; whoever ended it before it was answered gets no answer. */
  answer({ key }: Interaction, { effect, ...beside }: PaidAnswer): void {
    const { store, threads, effects, endings } = this.#parts
    store.transaction(() => {
      const interaction = threads.byKey(key)
      markCallBegun(store, key, false)
      dropPrice(store, interaction)
      if (interaction.numbered > 0) return
      if (interaction.state === 'open') effects.answer(interaction, effect, beside)
      else if (interaction.state === 'end_proposed') endings.accept(interaction)
    }, 'node.call')
  }

  /** A task in words is left to people and programs once its payment is held. */
  leaveToWords({ key }: Interaction): void {
    const { store, threads, news } = this.#parts
    store.transaction(() => {
      const interaction = threads.update(threads.byKey(key), { autoReply: 1 })
      dropPrice(store, interaction)
      news.step(interaction)
    }, 'node.payment')
  }
}
