/** Whose credits a price is in: this node pays with those of its home alone. */
import { networkOf } from '../../protocol/proof/payment.ts'
import type { CurrentHub } from '../hubs/current.ts'
import { alarmOf } from '../store/hub-accounts.ts'
import type { Store } from '../store/open.ts'
import type { QuoteRow } from '../store/quotes.ts'

type Priced = Pick<QuoteRow, 'network'>

export class OwnCredits {
  readonly #store: Store
  readonly #hub: CurrentHub

  constructor(store: Store, hub: CurrentHub) {
    this.#store = store
    this.#hub = hub
  }

  /** Whether a price is in credits of the home. */
  areAskedBy({ network }: Priced): boolean {
    const { home } = this.#hub
    return home !== undefined && network === networkOf(home.identity.aid)
  }

  /** Why nobody can pay a price with them, in a sentence; undefined where it can be paid. */
  whyNotFor(quote: Priced): string | undefined {
    const { home } = this.#hub
    if (home === undefined) return 'this node is registered at no hub, so it has no credits'
    const alarm = alarmOf(this.#store, home.identity.aid)
    if (alarm !== undefined) return `nothing is paid in credits of this hub: ${alarm}`
    return this.areAskedBy(quote)
      ? undefined
      : `the price is in credits of another hub, ${quote.network}; this node has none there`
  }
}
