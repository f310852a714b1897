/** Prices that a person orders to pay, whatever the rules of the node say. */
import { refuse } from '../refusal.ts'
import type { Store } from '../store/open.ts'
import { quoteOf } from '../store/quotes.ts'
import type { Interaction } from '../store/threads.ts'
import type { LostPayments } from './lost-payments.ts'
import type { OwnCredits } from './own-credits.ts'
import type { TaskPayments } from './task-payments.ts'

/** What a person says beside it: that nothing of it comes back, or that it is paid once more. */
export type Ordered = { unheld?: boolean; again?: boolean }

type OrderedParts = { store: Store; credits: OwnCredits; lost: LostPayments; payments: TaskPayments }

export class OrderedPrices {
  readonly #store: Store
  readonly #credits: OwnCredits
  readonly #lost: LostPayments
  readonly #payments: TaskPayments

  constructor({ store, credits, lost, payments }: OrderedParts) {
    this.#store = store
    this.#credits = credits
    this.#lost = lost
    this.#payments = payments
  }

  /** Pays the price of a task of ours; the task that was delegated anew for it. */
  pay(interaction: Interaction, { unheld = false, again = false }: Ordered): Interaction {
    return this.#store.transaction(() => {
      const quote = quoteOf(this.#store, interaction.key)
      if (quote?.state !== 'open')
        return refuse('wrong_state', 'this task waits for no payment', `svc thread ${interaction.id}`)
      if (quote.holdSeconds === null && !unheld)
        return refuse(
          'wrong_state',
          'this price is paid at once and without a hold: nothing of it comes back, whatever the answer is',
          `svc approve ${interaction.id} --unheld`,
        )
      const why = this.#credits.whyNotFor(quote)
      if (why !== undefined) return refuse('no_credits', why)
      if (!again) this.#lost.requireUnpaid(quote, interaction)
      return this.#payments.make(quote, interaction, 'person')
    }, 'node.pay')
  }
}
