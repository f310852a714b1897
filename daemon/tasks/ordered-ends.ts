/** The end of a task as its person orders it: with last words and a rating where they want both at once. */
import type { PricedAnswers } from '../payments/priced-tasks.ts'
import type { Store } from '../store/open.ts'
import type { Interaction } from '../store/threads.ts'
import { say } from './conversation.ts'
import type { Endings } from './endings.ts'
import { textMessage } from './messages.ts'
import type { Rating, Ratings } from './ratings.ts'
import { isCut } from './standing.ts'

export type Ending = {
  mode?: 'propose' | 'accept' | 'either' | undefined
  note?: string | undefined
  rating?: Rating | undefined
}

type EndParts = { store: Store; answers: PricedAnswers; endings: Endings; ratings: Ratings }

export class OrderedEnds {
  readonly #parts: EndParts

  constructor(parts: EndParts) {
    this.#parts = parts
  }

  /** Ends a task; `held`: as it stands inside of the transaction. */
  end(held: () => Interaction, ending: Ending): Interaction {
    const { store, ratings } = this.#parts
    return store.transaction(() => {
      const interaction = this.#endNow(held(), ending)
      if (ending.rating !== undefined) ratings.keep(interaction, ending.rating)
      return interaction
    }, 'node.end')
  }

  #endNow(held: Interaction, { mode, note }: Ending): Interaction {
    const { answers, endings } = this.#parts
    if (isCut(held) || (held.endBy === 'me' && mode !== 'accept')) return held
    const interaction = note ? say(answers, held, textMessage(note, [])).interaction : held
    if (mode === 'accept' || (interaction.endBy === 'peer' && mode === 'propose'))
      return endings.accept(interaction)
    return endings.propose(interaction)
  }
}
