/** What a payee signs to take a hold, or to give it back. */
import { HoldOrder } from '../../protocol/proof/payment.ts'
import type { HubClient, Settled } from '../hubs/hub.ts'
import type { Identity } from '../identity/identity.ts'
import type { Store } from '../store/open.ts'
import { type PaymentRow, replaceOrder } from '../store/payments.ts'
import { withNewestKey } from './accounts.ts'

/** An order about a hold; an amount of 0 gives all of it back. */
export function orderFor(
  identity: Identity,
  { payment }: Pick<PaymentRow, 'payment'>,
  { amount, madeAt }: { amount: number; madeAt: number },
): Uint8Array {
  const order = HoldOrder.sign(identity.seed, {
    v: 1,
    transaction: payment,
    amount,
    payee: identity.aid,
    payeeKelSeq: identity.log.seq,
    madeAt,
  })
  return HoldOrder.encode(order)
}

export const endIn = (order: Uint8Array): 'capture' | 'release' =>
  HoldOrder.decode(order).body.amount === 0 ? 'release' : 'capture'

export class HoldOrders {
  readonly #identity: Identity
  readonly #store: Store
  readonly #hubNow: () => number

  constructor(identity: Identity, store: Store, hubNow: () => number) {
    this.#identity = identity
    this.#store = store
    this.#hubNow = hubNow
  }

  /** An amount of 0 gives all of it back. */
  make(row: Pick<PaymentRow, 'payment'>, amount: number): Uint8Array {
    return orderFor(this.#identity, row, { amount, madeAt: this.#hubNow() })
  }

  /** The order as it was decided, under the key that this node has now. */
  underNewestKey(row: PaymentRow, encoded: Uint8Array): Uint8Array {
    const { amount, payeeKelSeq } = HoldOrder.decode(encoded).body
    if (payeeKelSeq === this.#identity.log.seq) return encoded
    const order = this.make(row, amount)
    this.#store.transaction(() => replaceOrder(this.#store, row.interaction, order), 'node.payment')
    return order
  }

  async send(hub: HubClient, order: Uint8Array, signal: AbortSignal): Promise<Settled> {
    return await withNewestKey(this.#identity, hub, () => hub.credits.endHold(order, endIn(order), signal))
  }
}
