/** What a reader of a task sees of its price, and of what became of its payment. */
import { present } from '../../protocol/encoding/present.ts'
import { Authorization } from '../../protocol/proof/payment.ts'
import { type LostPayment, LostPayments, sayDoubt } from '../payments/lost-payments.ts'
import type { OtherHub } from '../payments/other-hub.ts'
import type { Store } from '../store/open.ts'
import { hasPaidAcross } from '../store/open-payments.ts'
import { givenBack, type PaymentRow, paymentOf } from '../store/payments.ts'
import { type QuoteRow, quoteOf } from '../store/quotes.ts'
import type { Interaction, Threads } from '../store/threads.ts'

/** Also where the hub has lost what it signed at its end. */
const isEnded = ({ state, endReceipt }: PaymentRow): boolean =>
  state === 'ended' || (state === 'ending' && endReceipt !== null)

/** What became of a payment, by the state of its row, what moved, and what was given back of that. */
export function paidState(store: Store, row: PaymentRow) {
  const { state, moved, payment } = row
  if (state === 'ended' || isEnded(row))
    return (moved ?? 0) > givenBack(store, payment) ? ('taken' as const) : ('returned' as const)
  // an earlier build noted so what went over at once
  if (state === 'held' && row.holdUntil === null) return 'taken' as const
  if (state === 'authorized' && row.otherHub !== null) return 'paying' as const
  return state === 'ending' ? ('held' as const) : state
}

function paidView(store: Store, row: PaymentRow) {
  const back = givenBack(store, row.payment)
  const state = paidState(store, row)
  const { moved, amount } = row
  const isOpen = !isEnded(row) && row.state !== 'refused'
  const isPart = moved !== null && moved > 0 && moved < amount
  return {
    state,
    ...termsView({ holdSeconds: row.holdUntil, starts: row.starts }, state),
    ...present({
      taken: isPart ? moved : undefined,
      given_back: back === 0 ? undefined : back,
      problem: row.problem ?? undefined,
      held_until: isOpen ? (row.holdUntil ?? undefined) : undefined,
      other_hub: row.otherHub ?? undefined,
    }),
  }
}

const MAY_BE_LOST: readonly string[] = ['open', 'authorized', 'paying', 'held']

/** What may be lost of a payment that is not made, or whose work may not have begun. */
function termsView(
  { holdSeconds, starts }: { holdSeconds: number | null; starts: number | null },
  state: string,
): { unheld?: true; starts?: number } {
  if (!MAY_BE_LOST.includes(state)) return {}
  return holdSeconds === null ? { unheld: true } : present({ starts: starts ?? undefined })
}

const lostPaymentView = ({ state, transaction, amount, atMs, lostTask }: LostPayment) => ({
  state,
  ...present({ transaction, amount, at: atMs, lost_task: lostTask }),
})

const openView = ({ amount, starts, holdSeconds, says }: QuoteRow) => ({
  state: 'open' as const,
  ...termsView({ holdSeconds, starts: starts ?? amount }, 'open'),
  ...present({ says: says ?? undefined }),
})

export class PaymentViews {
  readonly #store: Store
  readonly #threads: Threads
  readonly #lost: LostPayments
  readonly #otherHub: OtherHub

  constructor(
    { store, threads, otherHub }: { store: Store; threads: Threads; otherHub: OtherHub },
    hubNow: () => number,
  ) {
    this.#store = store
    this.#otherHub = otherHub
    this.#threads = threads
    this.#lost = new LostPayments(store, threads, hubNow)
  }

  /** What a task costs, and what became of it; undefined where it has no price. */
  of(interaction: Interaction) {
    const [store, threads] = [this.#store, this.#threads]
    const own = paymentOf(store, interaction.key)
    if (own !== undefined) {
      const { amount, authorization, reason } = own
      // of a payment from another hub, the row has the network of the account to which it came
      const { network } = Authorization.decode(authorization).body
      return { amount, network, ...paidView(store, own), ...present({ reason: reason ?? undefined }) }
    }
    const quote = quoteOf(store, interaction.key)
    if (quote === undefined || quote.amount === null || quote.network === null) return undefined
    const { amount, network, paidAs, reason } = quote
    const paid = paidAs === null ? undefined : paymentOf(store, paidAs)
    return {
      amount,
      network,
      ...(paid === undefined ? openView(quote) : paidView(store, paid)),
      ...present({
        paid_as: paidAs === null ? undefined : threads.byKey(paidAs).id,
        reason: paid?.reason ?? reason ?? undefined,
      }),
      ...(quote.state === 'open' ? this.#openOnly(interaction, quote) : {}),
    }
  }

  #openOnly(interaction: Interaction, quote: QuoteRow) {
    return { ...this.#acrossView(interaction), ...this.#doubtView(quote) }
  }

  /** Where its payee lives, and whether two hubs would learn of a payment for the first time. */
  #acrossView({ peer }: Interaction): { other_hub?: string; first_across?: true } {
    const other = this.#otherHub.of(peer)
    if (other === undefined) return {}
    const isFirst = !hasPaidAcross(this.#store)
    return { other_hub: other, ...present({ first_across: isFirst ? (true as const) : undefined }) }
  }

  /** What a price waits for after a restore, and what a lost copy may have paid it with. */
  #doubtView(quote: QuoteRow) {
    const doubt = this.#lost.doubtOf(quote)
    if (doubt === undefined) return {}
    if (doubt.state === 'paid')
      return { lost_payments: doubt.payments.map(lostPaymentView), reason: sayDoubt(doubt) }
    // where a person decides anyway, nothing waits
    return quote.reason === null ? { waits_for: doubt.state, reason: sayDoubt(doubt) } : {}
  }
}
