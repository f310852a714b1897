/** What tasks cost and what was paid for them. A payment of somebody counts once: its id stands here for good. */
import type { paymentProblem } from '../../protocol/control/payment-shapes.ts'
import { blob, flag, integer, oneOf, orNull, type RowOf, text } from './columns.ts'
import type { Store } from './open.ts'

/** Why a payment waits, as the operations say it too. */
export type PaymentProblem = ReturnType<(typeof paymentProblem)['parse']>

/** Whether nobody has answered: neither refused nor signed. */
export const isSilence = (problem: PaymentProblem | null): boolean =>
  problem === 'unanswered' || problem === 'other_hub'

export const paymentsTable = {
  name: 'payments',
  columns: {
    interaction: integer,
    side: oneOf<'payer' | 'payee'>(text),
    /** Id of the payment, 36 bytes. */
    payment: blob,
    amount: integer,
    network: text,
    authorization: blob,
    salt: blob,
    state: oneOf<'authorized' | 'held' | 'ending' | 'ended' | 'refused'>(text),
    at: integer,
    holdUntil: orNull(integer),
    heldReceipt: orNull(blob),
    endOrder: orNull(blob),
    endReceipt: orNull(blob),
    outcome: orNull(blob),
    outcomePrivate: flag,
    orderedBy: orNull(oneOf<'person' | 'agent' | 'node'>(text)),
    moved: orNull(integer),
    reason: orNull(text),
    starts: orNull(integer),
    beganAt: orNull(integer),
    problem: orNull(oneOf<PaymentProblem>(text)),
    /** Questions to the hub in vain, and when the next one is due. */
    tries: integer,
    nextAt: integer,
    /** What this payee signed to give back. */
    refund: orNull(blob),
    /** What its payee sent to give it back, until a hub has said what became of that. */
    refundTold: orNull(blob),
    /** Credits that hubs have moved back. */
    refunded: orNull(integer),
    /** A person went on although its hub had lost it. */
    lossAccepted: flag,
    /** AID of the hub of the other side, where that is another one. */
    otherHub: orNull(text),
    /** What the payer's hub signed, where the account of this payee is at another one. */
    peerHeldReceipt: orNull(blob),
    peerEndReceipt: orNull(blob),
  },
} as const
export type PaymentRow = RowOf<typeof paymentsTable>

export function paymentOf(store: Store, interaction: number): PaymentRow | undefined {
  return store.row('SELECT * FROM payments WHERE interaction = ?', interaction)
}

/** The payment with this id, whatever it was for. */
export function paymentById(store: Store, id: Uint8Array): PaymentRow | undefined {
  return store.row('SELECT * FROM payments WHERE payment = ?', id)
}

type NewPayment = Pick<
  PaymentRow,
  | 'interaction'
  | 'side'
  | 'payment'
  | 'amount'
  | 'network'
  | 'authorization'
  | 'salt'
  | 'at'
  | 'holdUntil'
  | 'orderedBy'
> &
  Partial<Pick<PaymentRow, 'starts' | 'otherHub'>>

export function addPayment(store: Store, row: NewPayment): void {
  store.run(
    `INSERT INTO payments (interaction, side, payment, amount, network, authorization, salt, state, at, hold_until, ordered_by,
       starts, other_hub)
     VALUES (?, ?, ?, ?, ?, ?, ?, 'authorized', ?, ?, ?, ?, ?)`,
    row.interaction,
    row.side,
    row.payment,
    row.amount,
    row.network,
    row.authorization,
    row.salt,
    row.at,
    row.holdUntil,
    row.orderedBy,
    row.starts ?? null,
    row.otherHub ?? null,
  )
}

/** The work for a payment that came in begins; a withdrawal costs something from now on. */
export function markBegun(store: Store, interaction: number, at: number): void {
  store.run(
    `UPDATE payments SET began_at = coalesce(began_at, ?2) WHERE interaction = ?1 AND side = 'payee' AND state = 'held'`,
    interaction,
    at,
  )
}

/** What went over at once, and is never held. */
export function markPaid(store: Store, interaction: number, receipt: Uint8Array): void {
  store.run(
    `UPDATE payments SET state = 'ended', held_receipt = ?2, moved = amount
     WHERE interaction = ?1 AND side = 'payer' AND state = 'authorized'`,
    interaction,
    receipt,
  )
}

export function markHeld(store: Store, interaction: number, receipt: Uint8Array): void {
  store.run(
    "UPDATE payments SET state = 'held', held_receipt = ?, problem = NULL, tries = 0, next_at = 0 WHERE interaction = ? AND state = 'authorized'",
    receipt,
    interaction,
  )
}

/** What the hub of the payer signed beside a receipt of the account's own hub: the first that came stays. */
export function keepPeerReceipt(
  store: Store,
  interaction: number,
  { which, receipt }: { which: 'held' | 'end'; receipt: Uint8Array },
): void {
  store.run(
    `UPDATE payments SET peer_held_receipt = iif(?3, coalesce(peer_held_receipt, ?2), peer_held_receipt),
       peer_end_receipt = iif(?3, peer_end_receipt, coalesce(peer_end_receipt, ?2))
     WHERE interaction = ?1 AND side = 'payee'`,
    interaction,
    receipt,
    which === 'held' ? 1 : 0,
  )
}

/** What its payer can judge: what the hub of its own account signed of a payment. */
export function receiptsForPayer(
  row: Pick<PaymentRow, 'otherHub' | 'heldReceipt' | 'endReceipt' | 'peerHeldReceipt' | 'peerEndReceipt'>,
): Uint8Array[] {
  const { otherHub, heldReceipt, endReceipt, peerHeldReceipt, peerEndReceipt } = row
  const told = otherHub === null ? [heldReceipt, endReceipt] : [peerHeldReceipt, peerEndReceipt]
  return told.filter(receipt => receipt !== null)
}

/** What was done for a payment, with the order that takes it or gives it back: both are kept before either leaves. */
export function keepOutcome(
  store: Store,
  interaction: number,
  kept: { outcome: Uint8Array; isPrivate: boolean; order: Uint8Array },
): void {
  store.run(
    `UPDATE payments SET state = 'ending', outcome = ?, outcome_private = ?, end_order = ?
     WHERE interaction = ? AND state = 'held'`,
    kept.outcome,
    kept.isPrivate ? 1 : 0,
    kept.order,
    interaction,
  )
}

/** Keeps the order that takes what is held: the work for it is done. */
export function keepOrder(store: Store, interaction: number, order: Uint8Array): void {
  store.run(
    "UPDATE payments SET state = 'ending', end_order = ? WHERE interaction = ? AND state = 'held'",
    order,
    interaction,
  )
}

export function markEnded(
  store: Store,
  interaction: number,
  end: { receipt: Uint8Array | null; moved: number },
): void {
  store.run(
    "UPDATE payments SET state = 'ended', end_receipt = ?, moved = ?, problem = NULL WHERE interaction = ?",
    end.receipt,
    end.moved,
    interaction,
  )
}

/** Receipts of a payment that went out, as they came; the first that came stay. */
export function keepReceipts(
  store: Store,
  interaction: number,
  { held, end }: { held: Uint8Array | null; end: Uint8Array | null },
): void {
  store.run(
    `UPDATE payments SET held_receipt = coalesce(held_receipt, ?), end_receipt = coalesce(end_receipt, ?)
     WHERE interaction = ? AND side = 'payer'`,
    held,
    end,
    interaction,
  )
}

/** The provider says that it could not take the payment; only the hub knows. */
export function noteRefusalSaid(store: Store, interaction: number, why: string): void {
  store.run(
    "UPDATE payments SET reason = ?, problem = 'said_refused' WHERE interaction = ? AND state = 'authorized'",
    why,
    interaction,
  )
}

export function markRefused(store: Store, interaction: number, reason: string): void {
  store.run("UPDATE payments SET state = 'refused', reason = ? WHERE interaction = ?", reason, interaction)
}

/** The order under the key that this node has now. */
export function replaceOrder(store: Store, interaction: number, order: Uint8Array): void {
  store.run(
    "UPDATE payments SET end_order = ? WHERE interaction = ? AND state = 'ending'",
    order,
    interaction,
  )
}

/** The authorization of a payment that nobody has seen, under the key that this node has now. */
export function replaceAuthorization(
  store: Store,
  interaction: number,
  { payment, authorization }: Pick<PaymentRow, 'payment' | 'authorization'>,
): void {
  store.run(
    "UPDATE payments SET payment = ?, authorization = ? WHERE interaction = ? AND state = 'authorized'",
    payment,
    authorization,
    interaction,
  )
}

/** What the hub was asked stays open, for this reason, until it is asked again. */
export function noteProblem(
  store: Store,
  interaction: number,
  { problem, nextAt }: { problem: PaymentProblem | null; nextAt: number },
): void {
  store.run(
    'UPDATE payments SET problem = ?, tries = tries + 1, next_at = ? WHERE interaction = ?',
    problem,
    nextAt,
    interaction,
  )
}

/** What waits for a hub is asked again at once: there is a new key, or another hub. */
export function hurryPayments(store: Store): void {
  store.run(
    "UPDATE payments SET next_at = 0 WHERE side = 'payee' AND state IN ('authorized', 'held', 'ending')",
  )
}

/** What its provider sent as a receipt of a payment proves nothing, and is dropped. */
export function dropReceipts(store: Store, interaction: number, which: 'held' | 'end'): void {
  store.run(
    `UPDATE payments SET problem = 'false_receipt', held_receipt = iif(?2, NULL, held_receipt),
       end_receipt = iif(?2, end_receipt, NULL) WHERE interaction = ?1 AND side = 'payer'`,
    interaction,
    which === 'held' ? 1 : 0,
  )
}

/** Its hub has lost that it gave this to its payee: the order goes there again, beside the receipt that proves it. */
export function reopenEnd(store: Store, interaction: number): void {
  store.run(
    `UPDATE payments SET state = 'ending', problem = NULL, tries = 0, next_at = 0
     WHERE interaction = ? AND side = 'payee' AND state = 'ended' AND end_receipt IS NOT NULL AND end_order IS NOT NULL`,
    interaction,
  )
}

/** A person goes on although a hub has lost these holds of a payee. */
export function acceptLosses(store: Store, network: string): void {
  store.run(
    `UPDATE payments SET loss_accepted = state IN ('held', 'ending') AND problem IS 'hold_lost'
     WHERE side = 'payee' AND network = ?`,
    network,
  )
}

/** A person goes on although a hub has lost what it had given to this payee: nothing is asked any more. */
export function acceptLostEnds(store: Store, network: string): void {
  store.run(
    `UPDATE payments SET state = 'ended'
     WHERE side = 'payee' AND state = 'ending' AND problem = 'hold_lost' AND end_receipt IS NOT NULL AND network = ?`,
    network,
  )
}

/** Holds of this node's own payments that an earlier release took for ended by the ledger alone are asked about again. */
export function reopenUnprovenOut(store: Store): void {
  store.run(
    `UPDATE payments SET state = iif(held_receipt IS NULL, 'authorized', 'held'), moved = NULL, problem = 'unproven'
     WHERE side = 'payer' AND state = 'ended' AND end_receipt IS NULL AND hold_until IS NOT NULL`,
  )
}

/** Holds that an earlier release took for ended without the hub's receipt are asked about again. */
export function reopenUnproven(store: Store): void {
  store.run(
    `UPDATE payments SET state = 'ending', moved = NULL
     WHERE side = 'payee' AND state = 'ended' AND end_receipt IS NULL AND end_order IS NOT NULL`,
  )
}

/** Payments that a clock which ran ahead has put off. */
export function takeUpPayments(store: Store, now: number, furthest: number): void {
  store.run(
    "UPDATE payments SET next_at = ? WHERE side = 'payee' AND state IN ('authorized', 'held', 'ending') AND next_at > ?",
    now,
    furthest,
  )
}

/** Keeps what this payee signed to give back, in the place of what it had signed before. */
export function keepRefund(store: Store, interaction: number, refund: Uint8Array): void {
  store.run('UPDATE payments SET refund = ? WHERE interaction = ?', refund, interaction)
}

/** Keeps what the payee sent to give a payment back; null: a hub has said what became of it, or its time is over. */
export function keepRefundTold(store: Store, interaction: number, refund: Uint8Array | null): void {
  store.run('UPDATE payments SET refund_told = ? WHERE interaction = ?', refund, interaction)
}

/** What was given back of a payment, on either side. */
export const givenBack = (store: Store, payment: Uint8Array): number =>
  paymentById(store, payment)?.refunded ?? 0

/** A hub has moved this much more of it back. */
export function addGivenBack(store: Store, payment: Uint8Array, amount: number): void {
  store.run('UPDATE payments SET refunded = coalesce(refunded, 0) + ? WHERE payment = ?', amount, payment)
}
