/** Why the end of a hold is open, and when its hub is asked again. */
import type { CurrentHub } from '../hubs/current.ts'
import type { Identity } from '../identity/identity.ts'
import type { Timings } from '../platform/timings.ts'
import type { Store } from '../store/open.ts'
import { isSilence, noteProblem, type PaymentProblem, type PaymentRow, paymentOf } from '../store/payments.ts'
import { maySign } from './may-sign.ts'
import type { PaymentNews } from './news.ts'
import type { PricedAnswers } from './priced-tasks.ts'

const BACKOFF_MAX_MS = 10 * 60_000

type ProblemParts = {
  identity: Identity
  hub: CurrentHub
  store: Store
  answers: PricedAnswers
  news: PaymentNews
}

export class HoldProblems {
  readonly #identity: Identity
  readonly #hub: CurrentHub
  readonly #store: Store
  readonly #answers: PricedAnswers
  readonly #news: PaymentNews
  readonly #timings: Timings
  readonly #hubNow: () => number

  constructor({ identity, hub, store, answers, news }: ProblemParts, timings: Timings, hubNow: () => number) {
    this.#identity = identity
    this.#hub = hub
    this.#store = store
    this.#answers = answers
    this.#news = news
    this.#timings = timings
    this.#hubNow = hubNow
  }

  /** Its hub is asked again, ever less often. */
  askLater(row: PaymentRow, problem: PaymentProblem | null): void {
    const tries = paymentOf(this.#store, row.interaction)?.tries ?? row.tries
    const pauseMs = Math.min(this.#timings.paymentPauseMs * 2 ** Math.min(tries, 30), BACKOFF_MAX_MS)
    noteProblem(this.#store, row.interaction, { problem, nextAt: this.#hubNow() + pauseMs })
  }

  /** It stays open, and what waits for the hub's word goes without it. */
  open(row: PaymentRow, problem: PaymentProblem): undefined {
    this.#store.transaction(() => {
      this.askLater(row, problem)
      const isAwaited =
        row.state === 'ending' && row.endReceipt === null && maySign(this.#identity, this.#hub)
      if (!isSilence(problem) && isAwaited) this.#answers.letGo(row)
      if (row.problem !== problem) this.#news.changed(row.interaction)
    }, 'node.payment')
    return undefined
  }

  /** There is none any more, and what is due about it is due now. */
  clear(row: PaymentRow): void {
    this.#store.transaction(
      () => noteProblem(this.#store, row.interaction, { problem: null, nextAt: this.#hubNow() }),
      'node.payment',
    )
  }
}
