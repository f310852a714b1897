/** A payment across two hubs as it is asked for, waits, and is told (credits: between hubs). */
import type { HoldOrder } from '../../../protocol/proof/payment.ts'
import type { AskedPayment, PeerPayment } from '../../store/peer-payment-port.ts'
import { sameEnd } from '../ledger/holds.ts'
import { PaymentPending } from '../ledger/refused.ts'
import { type Settled, settledOf } from '../ledger/settlements.ts'
import type { Payment, PaymentRequest } from '../ledger/terms.ts'
import type { Peer } from './peers.ts'

const MS_PER_SECOND = 1000
/** Said of what waits for another hub. */
export const AGAIN = 'ask again in ten seconds'

/** A payment across two hubs, as each of them signed it. */
export type SettledAcross = { settled: Settled; peerReceipt: Uint8Array }

/** A payment as its hub is asked for it. */
export function askedOf(
  { authorization, transaction }: Payment,
  peer: Peer,
  request: PaymentRequest,
): AskedPayment {
  const { payTo, amount, holdUntil, notAfter } = authorization.body
  return {
    transaction,
    peer: peer.aid,
    payee: payTo,
    amount,
    authorization: request.authorization,
    holdSeconds: holdUntil === undefined ? undefined : (holdUntil - notAfter) / MS_PER_SECOND,
  }
}

/** The same before anybody has answered. */
export const openOf = (asked: AskedPayment): PeerPayment => ({
  ...asked,
  state: 'asked',
  receipt: undefined,
  peerReceipt: undefined,
  endReceipt: undefined,
  peerEndReceipt: undefined,
  order: undefined,
  askAtMs: undefined,
})

/** What both hubs signed; throws {@link PaymentPending} while one of them has not. */
export function acrossOf({ transaction, receipt, peerReceipt }: PeerPayment): SettledAcross {
  const settled = settledOf({ receipt })
  if (settled === undefined || peerReceipt === undefined) throw new PaymentPending(transaction, AGAIN)
  return { settled, peerReceipt }
}

/** How a hold has ended, where that is what was ordered. */
export function endOf(
  { transaction, endReceipt, peerEndReceipt }: PeerPayment,
  order: HoldOrder,
): SettledAcross {
  const end = settledOf({ receipt: endReceipt })
  if (end === undefined || peerEndReceipt === undefined) throw new PaymentPending(transaction, AGAIN)
  return { settled: sameEnd(end, order.body.amount), peerReceipt: peerEndReceipt }
}
