/** What tasks cost and what was paid for them. A payment of somebody counts once: its id stands here for good. */
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
  },
} as const
export type QuoteRow = RowOf<typeof quotesTable>

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

type Quoted = { amount: number; network: string; holdSeconds: number | undefined; settleSeconds: number }

/** The price came; what was ordered beforehand stays. */
export function noteQuote(store: Store, interaction: number, quote: Quoted): void {
  store.run(
    `INSERT INTO quotes (interaction, state, amount, network, hold_seconds, settle_seconds)
     VALUES (?, 'open', ?, ?, ?, ?)
     ON CONFLICT (interaction) DO UPDATE SET state = 'open', amount = excluded.amount, network = excluded.network,
       hold_seconds = excluded.hold_seconds, settle_seconds = excluded.settle_seconds
     WHERE state = 'awaited'`,
    interaction,
    quote.amount,
    quote.network,
    quote.holdSeconds ?? null,
    quote.settleSeconds,
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

/** What an agent asked last for the same, of what was paid or of what was only asked about; undefined where it never was. */
export function knownPrice(
  store: Store,
  { interaction, network }: Pick<QuoteRow, 'interaction' | 'network'>,
): number | undefined {
  return store.get<{ amount: number }>(
    `SELECT q.amount FROM interactions AS now JOIN interactions AS i ON i.peer = now.peer JOIN quotes AS q ON q.interaction = i.key
     WHERE now.key = ?1 AND i.key < ?1 AND i.capability IS now.capability AND q.network = ?2
       AND (q.state = 'paid' OR q.ordered_by IS NULL AND i.key NOT IN (SELECT interaction FROM payments)) ORDER BY i.key DESC LIMIT 1`,
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
>

export function addPayment(store: Store, row: NewPayment): void {
  store.run(
    `INSERT INTO payments (interaction, side, payment, amount, network, authorization, salt, state, at, hold_until, ordered_by)
     VALUES (?, ?, ?, ?, ?, ?, ?, 'authorized', ?, ?, ?)`,
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
  )
}

export function markHeld(store: Store, interaction: number, receipt: Uint8Array): void {
  store.run(
    "UPDATE payments SET state = 'held', held_receipt = ? WHERE interaction = ? AND state = 'authorized'",
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
    "UPDATE payments SET state = 'ended', end_receipt = ?, moved = ? WHERE interaction = ?",
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

/** Payments that came since a time, by what their hub signed at their end. */
export function receivedPayments(store: Store, network: string, since: number): { endReceipt: Uint8Array }[] {
  return camelRows(
    store.all(
      `SELECT end_receipt FROM payments WHERE side = 'payee' AND state = 'ended' AND network = ? AND at >= ? AND moved > 0
         AND end_receipt IS NOT NULL`,
      network,
      since,
    ),
  )
}

/** Payments that went out, of whose receipts one has not been judged. */
export function unjudgedPayments(store: Store, max: number): PaymentRow[] {
  return camelRows(
    store.all(
      `SELECT * FROM payments WHERE side = 'payer' AND (state = 'authorized' AND held_receipt IS NOT NULL
         OR state IN ('authorized', 'held') AND end_receipt IS NOT NULL) ORDER BY at LIMIT ?`,
      max,
    ),
  )
}

/** Payments that went out before a time, of which nothing was heard. */
export function silentPayments(store: Store, before: number, max: number): PaymentRow[] {
  return camelRows(
    store.all(
      `SELECT * FROM payments WHERE side = 'payer' AND state = 'authorized' AND held_receipt IS NULL AND at < ?
       ORDER BY at LIMIT ?`,
      before,
      max,
    ),
  )
}

/** Holds of payments that went out whose end nobody told: their task is over, or their time is. */
export function openHolds(store: Store, nowMs: number, max: number): PaymentRow[] {
  return camelRows(
    store.all(
      `SELECT p.* FROM payments AS p JOIN interactions AS i ON i.key = p.interaction
       WHERE p.side = 'payer' AND p.state IN ('authorized', 'held') AND p.hold_until IS NOT NULL AND p.end_receipt IS NULL
         AND (p.hold_until < ?1 OR i.state NOT IN ('queued', 'delivered', 'pending', 'open', 'end_proposed'))
       ORDER BY p.at LIMIT ?2`,
      nowMs,
      max,
    ),
  )
}

/** The account's ledger shows the end of a hold, without a receipt; false where it has ended already. */
export function endByLedger(store: Store, interaction: number, moved: number): boolean {
  const { changes } = store.run(
    `UPDATE payments SET state = 'ended', moved = ?2
     WHERE interaction = ?1 AND side = 'payer' AND state IN ('authorized', 'held') AND end_receipt IS NULL`,
    interaction,
    moved,
  )
  return changes === 1
}

/** The provider says that it could not take the payment; only the hub knows. */
export function noteRefusalSaid(store: Store, interaction: number, why: string): void {
  store.run("UPDATE payments SET reason = ? WHERE interaction = ? AND state = 'authorized'", why, interaction)
}

export function markRefused(store: Store, interaction: number, reason: string): void {
  store.run("UPDATE payments SET state = 'refused', reason = ? WHERE interaction = ?", reason, interaction)
}

/** What payments without a person came to since a time, but for those that were refused: all of them, or to one agent. */
export function spentSince(store: Store, since: number, to: string | undefined): number {
  const row = store.get<{ sum: number | null }>(
    `SELECT sum(coalesce(p.moved, p.amount)) AS sum FROM payments AS p JOIN interactions AS i ON i.key = p.interaction
     WHERE p.side = 'payer' AND p.state <> 'refused' AND p.ordered_by <> 'person' AND p.at >= ?1 AND (?2 IS NULL OR i.peer = ?2)`,
    since,
    to ?? null,
  )
  return row?.sum ?? 0
}

/** Payments that came for tasks which were withdrawn before anything was done for them. */
export function abandonedPayments(store: Store, max: number): PaymentRow[] {
  return camelRows(
    store.all(
      `SELECT p.* FROM payments AS p JOIN interactions AS i ON i.key = p.interaction
       WHERE p.side = 'payee' AND p.state IN ('authorized', 'held')
         AND i.state NOT IN ('pending', 'open', 'end_proposed') ORDER BY p.at LIMIT ?`,
      max,
    ),
  )
}

/** Orders about holds that the hub has not answered. */
export function openOrders(store: Store, max: number): PaymentRow[] {
  return camelRows(
    store.all("SELECT * FROM payments WHERE side = 'payee' AND state = 'ending' ORDER BY at LIMIT ?", max),
  )
}
