/** What a payee signs to take a hold, or to give it back. */
import { HoldOrder } from '../../protocol/proof/payment.ts'
import type { Context } from '../context.ts'
import type { PaymentRow } from '../store/payments.ts'

/** An order about a hold; an amount of 0 gives all of it back. */
export function orderFor(
  { identity, hubNow }: Pick<Context, 'identity' | 'hubNow'>,
  { payment }: Pick<PaymentRow, 'payment'>,
  amount: number,
): Uint8Array {
  const order = HoldOrder.sign(identity.seed, {
    v: 1,
    transaction: payment,
    amount,
    payee: identity.aid,
    payeeKelSeq: identity.log.seq,
    madeAt: hubNow(),
  })
  return HoldOrder.encode(order)
}
