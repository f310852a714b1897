/** What tasks cost and what was paid for them. A payment of somebody counts once: its id stands here for good. */
import type { paymentProblem } from '../../protocol/control/shapes.ts'
import { blob, flag, integer, oneOf, orNull, type RowOf, text } from './columns.ts'
import type { Store } from './open.ts'
import { camelRow, camelRows } from './rows.ts'

export const quotesTable = {
  name: 'quotes',
  columns: {
    interaction: integer,
    orderedBy: orNull(oneOf<'person' | 'agent'>(text)),
    creditsMax: orNull(integer),
    state: oneOf<'awaited' | 'open' | 'paid' | 'refused'>(text),
    amount: orNull(integer),
    network: orNull(text),
    holdSeconds: orNull(integer),
    settleSeconds: orNull(integer),
    reason: orNull(text),
    paidAs: orNull(integer),
    starts: orNull(integer),
    says: orNull(text),
    shown: flag,
  },
} as const
export type QuoteRow = RowOf<typeof quotesTable>

/** Why a payment waits, as the operations say it too. */
export type PaymentProblem = ReturnType<(typeof paymentProblem)['parse']>

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
  },
} as const
export type PaymentRow = RowOf<typeof paymentsTable>

export function quoteOf(store: Store, interaction: number): QuoteRow | undefined {
  const row = store.get('SELECT * FROM quotes WHERE interaction = ?', interaction)
  return row === undefined ? undefined : camelRow(row)
}

/** Somebody said beforehand that a task of ours shall be paid for. */
export function orderPayment(
  store: Store,
  interaction: number,
  by: 'person' | 'agent',
  creditsMax: number | undefined,
): void {
  store.run(
    "INSERT INTO quotes (interaction, ordered_by, credits_max, state) VALUES (?, ?, ?, 'awaited')",
    interaction,
    by,
    creditsMax ?? null,
  )
}

type Quoted = {
  amount: number
  network: string
  holdSeconds: number | undefined
  settleSeconds: number
  starts?: number | undefined
  /** The sentence of the provider, where it is none that its terms make. */
  says?: string | undefined
}

/** The price came; what was ordered beforehand stays. */
export function noteQuote(store: Store, interaction: number, quote: Quoted): void {
  store.run(
    `INSERT INTO quotes (interaction, state, amount, network, hold_seconds, settle_seconds, starts, says)
     VALUES (?, 'open', ?, ?, ?, ?, ?, ?)
     ON CONFLICT (interaction) DO UPDATE SET state = 'open', amount = excluded.amount, network = excluded.network,
       hold_seconds = excluded.hold_seconds, settle_seconds = excluded.settle_seconds, starts = excluded.starts,
       says = excluded.says
     WHERE state = 'awaited'`,
    interaction,
    quote.amount,
    quote.network,
    quote.holdSeconds ?? null,
    quote.settleSeconds,
    quote.starts ?? null,
    quote.says ?? null,
  )
}

/** A person reads what a task costs. */
export function markQuoteShown(store: Store, interaction: number): void {
  store.run(
    'UPDATE quotes SET shown = 1 WHERE interaction = ? AND amount IS NOT NULL AND shown = 0',
    interaction,
  )
}

export function markQuotePaid(store: Store, interaction: number, paidAs: number): void {
  store.run(
    "UPDATE quotes SET state = 'paid', reason = NULL, paid_as = ? WHERE interaction = ?",
    paidAs,
    interaction,
  )
}

/** Why it is not paid: for now, where a person can still decide, or for good. */
export function sayWhyUnpaid(store: Store, interaction: number, reason: string, forGood = false): void {
  store.run(
    "UPDATE quotes SET reason = ?2, state = iif(?3, 'refused', state) WHERE interaction = ?1",
    interaction,
    reason,
    forGood ? 1 : 0,
  )
}

/**
 * What a person paid last for the same, else what one was last shown when it was only asked about; undefined where neither
 * ever was. What a program asked or paid counts for nothing here.
 */
export function knownPrice(
  store: Store,
  { interaction, network }: Pick<QuoteRow, 'interaction' | 'network'>,
): number | undefined {
  return store.get<{ amount: number }>(
    `SELECT q.amount, p.interaction IS NOT NULL AS is_paid
     FROM interactions AS now JOIN interactions AS i ON i.peer = now.peer JOIN quotes AS q ON q.interaction = i.key
       LEFT JOIN payments AS p ON p.interaction = q.paid_as AND p.ordered_by = 'person' AND p.state <> 'refused'
     WHERE now.key = ?1 AND i.key < ?1 AND i.capability IS now.capability AND q.network = ?2
       AND (p.interaction IS NOT NULL
         OR q.shown = 1 AND q.paid_as IS NULL AND q.ordered_by IS NULL AND i.key NOT IN (SELECT interaction FROM payments))
     ORDER BY is_paid DESC, i.key DESC LIMIT 1`,
    interaction,
    network,
  )?.amount
}

/** Quotes that nobody has judged so far. */
export function freshQuotes(store: Store, max: number): QuoteRow[] {
  return camelRows(
    store.all(
      "SELECT * FROM quotes WHERE state = 'open' AND reason IS NULL ORDER BY interaction LIMIT ?",
      max,
    ),
  )
}

export function paymentOf(store: Store, interaction: number): PaymentRow | undefined {
  const row = store.get('SELECT * FROM payments WHERE interaction = ?', interaction)
  return row === undefined ? undefined : camelRow(row)
}

/** The payment with this id, whatever it was for. */
export function paymentById(store: Store, id: Uint8Array): PaymentRow | undefined {
  const row = store.get('SELECT * FROM payments WHERE payment = ?', id)
  return row === undefined ? undefined : camelRow(row)
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
  Partial<Pick<PaymentRow, 'starts'>>

export function addPayment(store: Store, row: NewPayment): void {
  store.run(
    `INSERT INTO payments (interaction, side, payment, amount, network, authorization, salt, state, at, hold_until, ordered_by,
       starts)
     VALUES (?, ?, ?, ?, ?, ?, ?, 'authorized', ?, ?, ?, ?)`,
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

/** Its hub has lost that it gave this to its payee: the order goes there again, beside the receipt that proves it. */
export function reopenEnd(store: Store, interaction: number): void {
  store.run(
    `UPDATE payments SET state = 'ending', problem = NULL, tries = 0, next_at = 0
     WHERE interaction = ? AND side = 'payee' AND state = 'ended' AND end_receipt IS NOT NULL AND end_order IS NOT NULL`,
    interaction,
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

/** Payments that a clock which ran ahead has put off. */
export function takeUpPayments(store: Store, now: number, furthest: number): void {
  store.run(
    "UPDATE payments SET next_at = ? WHERE side = 'payee' AND state IN ('authorized', 'held', 'ending') AND next_at > ?",
    now,
    furthest,
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
