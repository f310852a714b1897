/** What a payee signs to take a hold, or to give it back. */
import { HoldOrder } from '../../protocol/proof/payment.ts'
import type { Identity } from '../identity/identity.ts'
import type { PaymentRow } from '../store/payments.ts'

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
