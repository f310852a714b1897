/** Payments that went out and of which nothing was heard: once they can no longer be made by asking, their hub is asked. */
import { AUTHORIZATION_LIFE_MAX_MS, networkOf } from '../../protocol/proof/payment.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { Waker } from '../platform/waker.ts'
import type { Store } from '../store/open.ts'
import { silentPayments } from '../store/open-payments.ts'
import { keepReceipts, markRefused } from '../store/payments.ts'
import type { Threads } from '../store/threads.ts'
import { quoteOfRow } from './receipts.ts'

/** After this time an authorization that was not settled never will be. */
const TOLERANCE_MS = 4 * 60_000
const ROWS_MAX = 256

export class SilentPayments {
  readonly #store: Store
  readonly #threads: Threads
  readonly #spending: Waker
  readonly #hubNow: () => number

  /** `spending`: wakes what judges the receipts that come. */
  constructor(
    { store, threads, spending }: { store: Store; threads: Threads; spending: Waker },
    hubNow: () => number,
  ) {
    this.#store = store
    this.#threads = threads
    this.#spending = spending
    this.#hubNow = hubNow
  }

  /** Asks the hub for their receipts. */
  async ask(
    home: Pick<HubClient, 'credits' | 'identity'>,
    signal: AbortSignal,
  ): Promise<{ settled: string[]; lapsed: string[] }> {
    const store = this.#store
    const settled: string[] = []
    const lapsed: string[] = []
    const before = this.#hubNow() - AUTHORIZATION_LIFE_MAX_MS - TOLERANCE_MS
    const network = networkOf(home.identity.aid)
    for (const row of silentPayments(store, network, before, ROWS_MAX)) {
      const { id } = this.#threads.byKey(row.interaction)
      const answer = await home.credits.settle(row.authorization, quoteOfRow(row), signal)
      if ('receipt' in answer) {
        keepReceipts(store, row.interaction, { held: answer.receipt, end: null })
        settled.push(id)
      } else {
        markRefused(store, row.interaction, row.reason ?? 'nobody used the authorization in its time')
        lapsed.push(id)
      }
    }
    if (settled.length > 0) this.#spending.wake()
    return { settled, lapsed }
  }
}
