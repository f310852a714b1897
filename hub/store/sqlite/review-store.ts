/** Reviews in the database: one an interaction, counted by provider and by reviewer. */
import type { Reputation, StoredReview } from '../port.ts'
import type { Database } from './database.ts'
import { tellReview } from './told-reviews.ts'

/** Keeps a review; false when the interaction has one already. */
export function addReview(db: Database, review: StoredReview): boolean {
  const added = db.one<{ seq: number }>(
    'INSERT INTO review (provider, interaction, reviewer, rating, receipt, review, attestation)' +
      ' VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING seq',
    review.provider,
    review.interaction,
    review.reviewer,
    review.rating,
    review.receipt,
    review.review,
    review.attestation,
  )
  if (added === undefined) return false
  tellReview(db, review, added.seq)
  return true
}

export const reviewQueries = {
  exists: 'SELECT 1 FROM review WHERE provider = ? AND interaction = ?',
  byReviewer:
    'SELECT count(*) AS reviews, sum(rating) AS ratings FROM review WHERE provider = ? GROUP BY reviewer',
} as const

export function hasReview(db: Database, provider: string, interaction: Uint8Array): boolean {
  return db.one(reviewQueries.exists, provider, interaction) !== undefined
}

export const readReputation = (db: Database, provider: string): Reputation =>
  reputationOf(db, reviewQueries.byReviewer, provider)

/** Sums up what a query says of each reviewer of a provider. */
export function reputationOf(db: Database, byReviewer: string, provider: string): Reputation {
  const sources = db.all<{ reviews: number; ratings: number }>(byReviewer, provider)
  const sum = (of: (source: { reviews: number; ratings: number }) => number): number =>
    sources.reduce((total, source) => total + of(source), 0)
  return {
    reviews: sum(source => source.reviews),
    ratings: sum(source => source.ratings),
    reviewers: sources.length,
    mostOfOne: Math.max(0, ...sources.map(source => source.reviews)),
  }
}
