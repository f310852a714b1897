/** Listings of payments: of which something waits for a hub, what came in, what was spent. */
import type { Store } from './open.ts'
import type { PaymentRow } from './payments.ts'

/**
 * Payments that came for tasks which were withdrawn, or answered otherwise, before anything was done for them, and of which
 * it is time to ask.
 */
export function abandonedPayments(store: Store, now: number, max: number): PaymentRow[] {
  return store.rows(
    `SELECT p.* FROM payments AS p JOIN interactions AS i ON i.key = p.interaction
     WHERE p.side = 'payee' AND p.state IN ('authorized', 'held') AND p.next_at <= ?1
       AND (i.state NOT IN ('pending', 'open', 'end_proposed') OR p.state = 'authorized' AND i.numbered > 0)
     ORDER BY p.next_at, p.at LIMIT ?2`,
    now,
    max,
  )
}

/** Holds whose time was over before anybody answered the task in words that they are for, or that a lost copy has answered. */
export function lapsedHolds(store: Store, now: number, max: number): PaymentRow[] {
  return store.rows(
    `SELECT p.* FROM payments AS p JOIN interactions AS i ON i.key = p.interaction
     WHERE p.side = 'payee' AND p.state = 'held' AND p.hold_until <= ? AND (i.capability IS NULL OR i.numbered > 0)
     ORDER BY p.at LIMIT ?`,
    now,
    max,
  )
}

/**
 * Holds that are older than a restore, so that a copy which is lost may have ended them; not those of calls that are still to
 * be answered here.
 */
export function doubtedHolds(store: Store, restoredAt: number, now: number, max: number): PaymentRow[] {
  return store.rows(
    `SELECT p.* FROM payments AS p JOIN interactions AS i ON i.key = p.interaction
     WHERE p.side = 'payee' AND p.state = 'held' AND p.at <= ?1 AND p.next_at <= ?2
       AND (i.capability IS NULL OR i.numbered > 0) ORDER BY p.next_at, p.at LIMIT ?3`,
    restoredAt,
    now,
    max,
  )
}

/** Orders about holds that the hub has not answered, and for which it is time. */
export function openOrders(store: Store, now: number, max: number): PaymentRow[] {
  return store.rows(
    `SELECT * FROM payments WHERE side = 'payee' AND state = 'ending' AND next_at <= ?
     ORDER BY next_at, at LIMIT ?`,
    now,
    max,
  )
}

/** What a payee that signs nothing any more can still learn the end of: its orders, and holds whose time is over. */
export function storedEnds(store: Store, now: number, max: number): PaymentRow[] {
  return store.rows(
    `SELECT * FROM payments WHERE side = 'payee' AND next_at <= ?1
         AND (state = 'ending' OR state = 'held' AND hold_until <= ?1) ORDER BY next_at, at LIMIT ?2`,
    now,
    max,
  )
}

/** Payments to this node that a hub holds, as it signed, and of whose end it has signed nothing. */
export function heldForUs(store: Store, network: string): PaymentRow[] {
  return store.rows(
    `SELECT * FROM payments WHERE side = 'payee' AND state IN ('held', 'ending') AND network = ? ORDER BY at`,
    network,
  )
}

/** Payments of this node that a hub has not shown, by a receipt that holds, to be held still or to have ended. */
export function unprovenOut(store: Store, network: string): PaymentRow[] {
  return store.rows(
    `SELECT * FROM payments WHERE side = 'payer' AND state IN ('authorized', 'held') AND network = ?
         AND problem IN ('unproven', 'bad_receipt', 'hold_lost') ORDER BY at`,
    network,
  )
}

/** Payments to this node of which something waits for a hub. */
export function waitingPayments(store: Store): PaymentRow[] {
  return store.rows(
    `SELECT * FROM payments WHERE side = 'payee' AND state IN ('authorized', 'ending')
         OR side = 'payer' AND state IN ('authorized', 'held') AND problem IS NOT NULL ORDER BY at`,
  )
}

/** Whether this node has ever signed a payment to an agent of another hub. */
export const hasPaidAcross = (store: Store): boolean =>
  store.get("SELECT 1 FROM payments WHERE other_hub IS NOT NULL AND side = 'payer' LIMIT 1") !== undefined

/** Networks in whose credits payments of this node are open. */
export function openNetworksOf(store: Store): string[] {
  return store
    .all<{ network: string }>(
      "SELECT DISTINCT network FROM payments WHERE side = 'payer' AND state IN ('authorized', 'held')",
    )
    .map(({ network }) => network)
}

/** Networks in whose credits any payment is open, on either side. */
export const openNetworks = (store: Store): string[] =>
  store
    .all<{ network: string }>(
      `SELECT DISTINCT network FROM payments WHERE side IN ('payer', 'payee') AND state IN ('authorized', 'held', 'ending')`,
    )
    .map(({ network }) => network)

/** Payments that were made since a time and have ended, on either side. */
export function endedPayments(store: Store, since: number): PaymentRow[] {
  return store.rows(
    "SELECT * FROM payments WHERE side IN ('payer', 'payee') AND state = 'ended' AND at >= ? AND end_receipt IS NOT NULL",
    since,
  )
}

/** Payments that went out, of whose receipts one has not been judged. */
export function unjudgedPayments(store: Store, max: number): PaymentRow[] {
  return store.rows(
    `SELECT * FROM payments WHERE side = 'payer' AND (state = 'authorized' AND held_receipt IS NOT NULL
         OR state IN ('authorized', 'held') AND end_receipt IS NOT NULL) ORDER BY at LIMIT ?`,
    max,
  )
}

/** Payments that went out in credits of one hub before a time, of which nothing was heard. */
export function silentPayments(store: Store, network: string, before: number, max: number): PaymentRow[] {
  return store.rows(
    `SELECT * FROM payments WHERE side = 'payer' AND state = 'authorized' AND held_receipt IS NULL
         AND network = ? AND at < ? ORDER BY at LIMIT ?`,
    network,
    before,
    max,
  )
}

/** Holds of payments that went out whose end nobody told: their task is over, or their time is. */
export function openHolds(store: Store, nowMs: number, max: number): PaymentRow[] {
  return store.rows(
    `SELECT p.* FROM payments AS p JOIN interactions AS i ON i.key = p.interaction
     WHERE p.side = 'payer' AND p.state IN ('authorized', 'held') AND p.hold_until IS NOT NULL AND p.end_receipt IS NULL
       AND (p.hold_until < ?1 OR p.problem IN ('false_receipt', 'said_refused') OR i.state NOT IN ('queued', 'delivered', 'pending', 'open', 'end_proposed'))
     ORDER BY p.at LIMIT ?2`,
    nowMs,
    max,
  )
}

/** When the next question about a payment to this node is due. */
export function nextPaymentAt(store: Store): number | undefined {
  const first = store.get<{ at: number | null }>(
    "SELECT min(next_at) AS at FROM payments WHERE side = 'payee' AND state = 'ending'",
  )
  return first?.at ?? undefined
}

/** Authorizations of this node of which no hub has said anything. */
export function openPaymentsOut(store: Store): PaymentRow[] {
  return store.rows(
    "SELECT * FROM payments WHERE side = 'payer' AND state = 'authorized' AND held_receipt IS NULL ORDER BY at",
  )
}

/** Payments that came since a time, as their hub signed at their end, also where it has lost that. */
export function receivedPayments(store: Store, network: string, since: number): PaymentRow[] {
  return store.rows(
    `SELECT * FROM payments WHERE side = 'payee' AND (state = 'ended' OR state = 'ending' AND problem = 'hold_lost')
         AND network = ? AND at >= ? AND moved > 0 AND end_receipt IS NOT NULL`,
    network,
    since,
  )
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

/** Key of the first of the tasks in whose place, one after the other, this one was delegated anew. */
export function firstGiven(store: Store, interaction: number): number {
  const row = store.get<{ key: number }>(
    `WITH RECURSIVE previous (key) AS (
       SELECT ?1 UNION SELECT i.key FROM previous AS f JOIN interactions AS i ON i.anew_as = f.key)
     SELECT min(key) AS key FROM previous`,
    interaction,
  )
  return row?.key ?? interaction
}

/** Whether credits went out for a task in whose place this one was delegated anew, and did not all come back. */
export const wasPaidBefore = (store: Store, interaction: number): boolean =>
  store.get(
    `WITH RECURSIVE previous (key) AS (
       SELECT key FROM interactions WHERE anew_as = ?1
       UNION SELECT i.key FROM previous AS f JOIN interactions AS i ON i.anew_as = f.key)
     SELECT 1 FROM previous AS f LEFT JOIN quotes AS q ON q.interaction = f.key
       JOIN payments AS p ON p.interaction IN (f.key, q.paid_as)
     WHERE p.side = 'payer' AND p.state <> 'refused' AND NOT (p.state = 'ended' AND p.moved = 0) LIMIT 1`,
    interaction,
  ) !== undefined

/** Payments of which this node signed to give something back, and no hub has moved it. */
export const waitingRefunds = (store: Store): PaymentRow[] =>
  store.rows('SELECT * FROM payments WHERE refund IS NOT NULL AND refunded IS NULL ORDER BY interaction')

/** Payments that their payees gave back, by an order of which no hub has said what became. */
export const toldRefunds = (store: Store): (PaymentRow & { refundTold: Uint8Array })[] =>
  store.rows('SELECT * FROM payments WHERE refund_told IS NOT NULL ORDER BY interaction')
