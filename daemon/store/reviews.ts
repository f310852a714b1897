/** Reviews of finished interactions: kept at once, then uploaded or refused. */
import { blob, flag, integer, oneOf, orNull, type RowOf, text } from './columns.ts'
import type { Store } from './open.ts'

export const reviewsTable = {
  name: 'reviews',
  columns: {
    interaction: integer,
    rating: integer,
    review: blob,
    cid: text,
    state: oneOf<'kept' | 'uploaded' | 'refused'>(text),
    reason: orNull(text),
    /** Whose words the reason is. */
    reasonBy: orNull(oneOf<'node' | 'hub'>(text)),
    nextAt: integer,
    /** End of the time in which a hub takes it. */
    until: integer,
    /** The hub's own signed word that it has the review. */
    attestation: orNull(blob),
    /** Its person lets a hub publish the task and its answer with it. */
    publishes: flag,
    /** What it waits for beyond its time. */
    waitsFor: orNull(oneOf<'person'>(text)),
  },
} as const
export type ReviewRow = RowOf<typeof reviewsTable>

export function reviewOf(store: Store, interaction: number): ReviewRow | undefined {
  return store.row('SELECT * FROM reviews WHERE interaction = ?', interaction)
}

export function dueReviews(store: Store, now: number, max: number): ReviewRow[] {
  return store.rows(
    "SELECT * FROM reviews WHERE state = 'kept' AND next_at <= ? ORDER BY next_at LIMIT ?",
    now,
    max,
  )
}

/** When the next kept review is due. */
export function nextReviewAt(store: Store): number | undefined {
  const row = store.get<{ at: number | null }>("SELECT min(next_at) AS at FROM reviews WHERE state = 'kept'")
  return row?.at ?? undefined
}

export function keepReviewRow(
  store: Store,
  row: Omit<ReviewRow, 'state' | 'attestation' | 'waitsFor'>,
): void {
  store.run(
    `INSERT INTO reviews (interaction, rating, review, cid, state, reason, reason_by, next_at, until, publishes)
     VALUES (?, ?, ?, ?, 'kept', ?, ?, ?, ?, ?)`,
    row.interaction,
    row.rating,
    row.review,
    row.cid,
    row.reason,
    row.reasonBy,
    row.nextAt,
    row.until,
    row.publishes,
  )
}

export function postponeReview(
  store: Store,
  interaction: number,
  { reason, reasonBy, nextAt, waitsFor }: Pick<ReviewRow, 'reason' | 'reasonBy' | 'nextAt' | 'waitsFor'>,
): void {
  store.run(
    'UPDATE reviews SET reason = ?, reason_by = ?, next_at = ?, waits_for = ? WHERE interaction = ?',
    reason,
    reasonBy,
    Math.ceil(nextAt),
    waitsFor,
    interaction,
  )
}

/** Its person lets a hub publish the task with it: it is due now. */
export function publishReview(store: Store, interaction: number, now: number): void {
  store.run(
    "UPDATE reviews SET publishes = 1, waits_for = NULL, next_at = ? WHERE interaction = ? AND state = 'kept'",
    now,
    interaction,
  )
}

/** Nothing more happens with this review. */
export function concludeReview(
  store: Store,
  interaction: number,
  outcome: Pick<ReviewRow, 'reason' | 'reasonBy' | 'attestation'> & { state: 'uploaded' | 'refused' },
): void {
  store.run(
    'UPDATE reviews SET state = ?, reason = ?, reason_by = ?, attestation = ? WHERE interaction = ?',
    outcome.state,
    outcome.reason,
    outcome.reasonBy,
    outcome.attestation,
    interaction,
  )
}

/** Reviews that a clock that ran ahead has put off. */
export function takeUpReviews(store: Store, now: number, furthest: number): void {
  store.run("UPDATE reviews SET next_at = ?1 WHERE state = 'kept' AND next_at > ?2", now, furthest)
}
