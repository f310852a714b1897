/** Refunds that a copy of this node which is lost had ordered: counted as given back, once their task is known here. */
import type { Logger } from 'pino'
import { Authorization, networkOf } from '../../protocol/proof/payment.ts'
import { lostOrderRows } from '../store/lost-orders.ts'
import type { Store } from '../store/open.ts'
import { paymentById } from '../store/payments.ts'
import { noteRefund } from '../store/refunds.ts'
import type { Interaction, Threads } from '../store/threads.ts'
import type { Asked, RefundCalls } from './refund-calls.ts'
import { countBack, isNoted, transactionIn } from './refunds.ts'

type LostRefundParts = { store: Store; threads: Threads; calls: RefundCalls }

export class LostRefunds {
  readonly #store: Store
  readonly #threads: Threads
  readonly #calls: RefundCalls
  readonly #log: Logger

  constructor({ store, threads, calls }: LostRefundParts, log: Logger) {
    this.#store = store
    this.#threads = threads
    this.#calls = calls
    this.#log = log
  }

  /** Counts refunds that a lost copy ordered as given back, once their task is known here. */
  async takeUp(hub: Asked, signal: AbortSignal): Promise<void> {
    const network = networkOf(hub.identity.aid)
    for (const { authorization: encoded } of lostOrderRows(this.#store)) {
      const { refundOf, network: of } = Authorization.decode(encoded).body
      const row = refundOf && paymentById(this.#store, refundOf)
      if (row?.side !== 'payee' || of !== network || isNoted(this.#store, encoded)) continue
      await this.#takeUp(hub, this.#threads.byKey(row.interaction), { encoded, signal })
    }
  }

  /**
   * Counts a refund that its hub shows and this node has no record of: the hub gives its receipt to whoever repeats it. One
   * for which it gives none is not counted, and asked about again.
   */
  async #takeUp(
    home: Asked,
    interaction: Interaction,
    { encoded, signal }: { encoded: Uint8Array; signal: AbortSignal },
  ): Promise<void> {
    const settled = await this.#calls.ask(home, interaction, encoded, signal)
    if ('says' in settled || !settled.verified) {
      const says = 'says' in settled ? settled.says : 'a receipt that does not hold'
      this.#log.error({ says }, 'the hub shows a refund and signs no receipt')
      return
    }
    this.#store.transaction(() => {
      if (isNoted(this.#store, encoded)) return
      noteRefund(this.#store, { id: transactionIn(encoded), amount: settled.amount })
      countBack(this.#store, encoded, settled.amount)
      this.#calls.record(interaction, settled)
    }, 'node.payment')
  }
}
