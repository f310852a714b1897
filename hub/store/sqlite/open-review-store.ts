/** Reviews of agents with open mail in the database. Changes run inside a transaction. */
import type {
  AddOpenReview,
  HeldOpenReview,
  OpenReviewEdge,
  OpenReviewStore,
  OpenReviewsQuery,
  OpenSums,
} from '../open-review-port.ts'
import { openReviewOf, type StoredOpenReview, sizeOfReview } from '../open-review-rows.ts'
import type { Database } from './database.ts'
import { reputationOf } from './review-store.ts'
import type { WriterClient } from './writer-client.ts'

export const openReviewQueries = {
  reviewer: 'SELECT reviewer FROM open_review WHERE provider = ? AND interaction = ?',
  all: 'SELECT fed_seq FROM open_review WHERE fed_seq > ? ORDER BY fed_seq LIMIT ?',
  of: 'SELECT fed_seq FROM open_review WHERE provider = ? AND fed_seq > ? ORDER BY fed_seq LIMIT ?',
  one:
    'SELECT *, (SELECT kel FROM agent WHERE aid = provider) AS held_kel,' +
    ' (SELECT kel FROM agent WHERE aid = reviewer) AS reviewer_kel FROM open_review WHERE fed_seq = ?',
  edges:
    'SELECT fed_seq, provider, interaction, reviewer, rating FROM open_review WHERE fed_seq > ? ORDER BY fed_seq LIMIT ?',
  byReviewer:
    'SELECT count(*) AS reviews, sum(rating) AS ratings FROM open_review WHERE provider = ? GROUP BY reviewer',
  sums:
    'SELECT provider, count(*) AS reviews, sum(rating) AS ratings FROM open_review' +
    ' WHERE provider IN (SELECT value FROM json_each(?)) GROUP BY provider',
  totals: 'SELECT reviews, ratings, bytes FROM open_review_totals WHERE one = 1',
} as const

type Totals = { reviews: number; ratings: number; bytes: number }

export function addOpenReview(db: Database, given: AddOpenReview): { outcome: 'stored' | 'exists' | 'full' } {
  const { provider, interaction, reviewer, rating, providerKel, receipt, review, request, deliverable } =
    given
  if (db.one(openReviewQueries.reviewer, provider, interaction) !== undefined) return { outcome: 'exists' }
  const bytes = [receipt, review, request, deliverable, providerKel].reduce(
    (sum, block) => sum + (block?.length ?? 0),
    0,
  )
  const held = db.one<Totals>(openReviewQueries.totals)?.bytes ?? 0
  if (held + bytes > given.bytesMax) return { outcome: 'full' }
  db.run(
    'INSERT INTO open_review (provider, interaction, reviewer, rating, provider_kel, receipt, review, request, deliverable)' +
      ' VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
    ...[provider, interaction, reviewer, rating, providerKel ?? null, receipt, review, request, deliverable],
  )
  db.run(
    'UPDATE open_review_totals SET reviews = reviews + 1, ratings = ratings + ?, bytes = bytes + ? WHERE one = 1',
    rating,
    bytes,
  )
  return { outcome: 'stored' }
}

function readReviews(db: Database, { provider, after, limit, bytesMax }: OpenReviewsQuery): HeldOpenReview[] {
  const heads =
    provider === undefined
      ? db.all<{ fed_seq: number }>(openReviewQueries.all, after, limit)
      : db.all<{ fed_seq: number }>(openReviewQueries.of, provider, after, limit)
  const found: HeldOpenReview[] = []
  let bytes = 0
  for (const head of heads) {
    const row = db.one<StoredOpenReview>(openReviewQueries.one, head.fed_seq)
    if (row === undefined) continue
    const one = openReviewOf(row)
    bytes += sizeOfReview(one)
    if (found.length > 0 && bytes > bytesMax) break
    found.push(one)
  }
  return found
}

export function openReviewsOver(reader: Database, writer: WriterClient): OpenReviewStore {
  return {
    addOpenReview: given => writer.write('addOpenReview', given),
    openReviewer: async (provider, interaction) =>
      reader.one<{ reviewer: string }>(openReviewQueries.reviewer, provider, interaction)?.reviewer,
    openReviews: async query => readReviews(reader, query),
    openReviewEdges: async ({ after, limit }) =>
      reader
        .all<Omit<OpenReviewEdge, 'fedSeq'> & { fed_seq: number }>(openReviewQueries.edges, after, limit)
        .map(({ fed_seq: fedSeq, ...edge }) => ({ ...edge, fedSeq })),
    openReputation: async provider => reputationOf(reader, openReviewQueries.byReviewer, provider),
    async openSums(providers) {
      const asked = JSON.stringify(providers)
      const rows = reader.all<OpenSums & { provider: string }>(openReviewQueries.sums, asked)
      return new Map(rows.map(({ provider, ...sums }) => [provider, sums]))
    },
    async openReviewTotals() {
      const { reviews = 0, ratings = 0 } = reader.one<Totals>(openReviewQueries.totals) ?? {}
      return { reviews, ratings }
    },
  }
}
