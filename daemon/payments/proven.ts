/** What receipts of the hub prove of a payment that went out: noted beside a record that holds the receipt. */
import { cidText } from '../../protocol/crypto/hash.ts'
import { SettlementReceipt, settlementKinds } from '../../protocol/proof/payment.ts'
import type { Chain } from '../chain/chain.ts'
import type { Store } from '../store/open.ts'
import { markEnded, markHeld, markPaid, type PaymentRow, paymentOf } from '../store/payments.ts'
import type { Threads } from '../store/threads.ts'
import type { PaymentNews } from './news.ts'

type Proven = { receipt: Uint8Array; moved: number; states: readonly PaymentRow['state'][]; mark: () => void }
type ProvenParts = { store: Store; threads: Threads; chain: Chain; news: PaymentNews }

export class ProvenPayments {
  readonly #store: Store
  readonly #threads: Threads
  readonly #chain: Chain
  readonly #news: PaymentNews

  constructor({ store, threads, chain, news }: ProvenParts) {
    this.#store = store
    this.#threads = threads
    this.#chain = chain
    this.#news = news
  }

  /** That the credits are held, or went over at once. */
  noteTaken(row: PaymentRow, receipt: Uint8Array): void {
    const isPaid = SettlementReceipt.decode(receipt).body.kind === settlementKinds.paid
    const mark = isPaid ? markPaid : markHeld
    const states = ['authorized'] as const
    this.#record(row, {
      receipt,
      moved: row.amount,
      states,
      mark: () => mark(this.#store, row.interaction, receipt),
    })
  }

  /** How a hold has ended; what its payee took of it, undefined where that was known before. */
  noteEnd(row: PaymentRow, receipt: Uint8Array): number | undefined {
    const { kind, amount } = SettlementReceipt.decode(receipt).body
    const moved = kind === settlementKinds.captured ? amount : row.amount - amount
    const states = ['authorized', 'held'] as const
    const mark = () => markEnded(this.#store, row.interaction, { receipt, moved })
    return this.#record(row, { receipt, moved, states, mark }) ? moved : undefined
  }

  /** False where another receipt has said it before. */
  #record(row: PaymentRow, { receipt, moved, states, mark }: Proven): boolean {
    return this.#store.transaction(() => {
      const state = paymentOf(this.#store, row.interaction)?.state
      if (state === undefined || !states.includes(state)) return false
      const interaction = this.#threads.byKey(row.interaction)
      this.#news.changed(row.interaction)
      this.#chain.append('svc.payment.settled', {
        interaction_id: interaction.id,
        transaction: cidText(row.payment),
        amount: moved,
        network: row.network,
        verified: true,
        payee: interaction.peer,
        auth_id: cidText(row.payment),
        receipt,
      })
      mark()
      return true
    }, 'node.payment')
  }
}
