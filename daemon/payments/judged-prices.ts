/** Prices that the rules of the node judge: they are paid, or say what a person has to decide. */
import { attemptEach } from '../platform/loop.ts'
import type { Store } from '../store/open.ts'
import { freshQuotes, type QuoteRow, sayWhyUnpaid } from '../store/quotes.ts'
import type { Threads } from '../store/threads.ts'
import type { PaymentNews } from './news.ts'
import type { SpendingRules } from './rules.ts'
import type { TaskPayments } from './task-payments.ts'

const AT_ONCE_MAX = 64
const FRESH_MAX = 4096

type JudgedParts = {
  store: Store
  threads: Threads
  rules: SpendingRules
  payments: TaskPayments
  news: PaymentNews
}

export class JudgedPrices {
  readonly #store: Store
  readonly #threads: Threads
  readonly #rules: SpendingRules
  readonly #payments: TaskPayments
  readonly #news: PaymentNews

  constructor({ store, threads, rules, payments, news }: JudgedParts) {
    this.#store = store
    this.#threads = threads
    this.#rules = rules
    this.#payments = payments
    this.#news = news
  }

  /** Judges those that came since, apart from what waits for the word of others. */
  judgeFresh(): void {
    const fresh = freshQuotes(this.#store, FRESH_MAX).filter(quote => !this.#rules.isWaiting(quote))
    attemptEach(fresh.slice(0, AT_ONCE_MAX), quote => this.#judge(quote))
  }

  #judge(quote: QuoteRow): void {
    this.#store.transaction(() => {
      const interaction = this.#threads.byKey(quote.interaction)
      const why = this.#rules.whyNot(quote, interaction.peer)
      if (why === undefined) this.#payments.make(quote, interaction, quote.orderedBy ?? 'node')
      else sayWhyUnpaid(this.#store, quote.interaction, why)
      this.#news.priced(interaction)
    }, 'node.pay')
  }
}
