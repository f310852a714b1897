/** Payments in the credits of peers as engines keep them, and what keeps one from being opened. */
import type { OpenPeerPayment, PeerCredit, PeerPayment, PeerPaymentState } from './peer-payment-port.ts'

export type StoredPeerPayment = {
  id: Uint8Array
  peer: string
  payee: string
  amount: number
  authorization: Uint8Array
  hold_s: number | null
  state: PeerPaymentState
  receipt: Uint8Array | null
  peer_receipt: Uint8Array | null
  end_receipt: Uint8Array | null
  peer_end_receipt: Uint8Array | null
  hold_order: Uint8Array | null
  ask_at_ms: number | null
}

export const paymentOf = (row: StoredPeerPayment): PeerPayment => ({
  transaction: row.id,
  peer: row.peer,
  payee: row.payee,
  amount: row.amount,
  authorization: row.authorization,
  holdSeconds: row.hold_s ?? undefined,
  state: row.state,
  receipt: row.receipt ?? undefined,
  peerReceipt: row.peer_receipt ?? undefined,
  endReceipt: row.end_receipt ?? undefined,
  peerEndReceipt: row.peer_end_receipt ?? undefined,
  order: row.hold_order ?? undefined,
  askAtMs: row.ask_at_ms ?? undefined,
})

export type StoredCredit = { balance: number; open: number; count: number }

export const creditOf = ({ balance, open }: StoredCredit): PeerCredit => ({
  owes: balance === 0 ? 0 : -balance,
  open,
})

/** Whether the peer would owe too much with another amount. */
export function owesOver(
  credit: StoredCredit,
  { amount, creditMax }: { amount: number; creditMax: number },
): boolean {
  const { owes, open } = creditOf(credit)
  return owes + open + amount > creditMax
}

/** Whether the peer would owe too much with a payment, or too many would be open. */
export const opensOver = (credit: StoredCredit, given: OpenPeerPayment): boolean =>
  owesOver(credit, given) || credit.count >= given.openMax
