/** Reviews of agents with open mail, in PostgreSQL; their numbers are given in the order of commits. */
import type {
  AddOpenReview,
  HeldOpenReview,
  OpenReviewEdge,
  OpenReviewStore,
  OpenReviewsQuery,
  OpenSums,
} from '../open-review-port.ts'
import { openReviewOf, type StoredOpenReview, sizeOfReview } from '../open-review-rows.ts'
import type { Reputation } from '../port.ts'
import type { Queries } from './connections.ts'
import type { Write } from './groups.ts'
import type { Writer } from './writes.ts'

const SIZE = 'length(receipt) + length(review) + length(request) + length(deliverable)'

export const openReviewQueries = {
  reviewer: 'SELECT reviewer FROM open_review WHERE provider = $1 AND interaction = $2',
  sizes: `SELECT fed_seq, ${SIZE} AS size FROM open_review WHERE fed_seq > $1 ORDER BY fed_seq LIMIT $2`,
  sizesOf: `SELECT fed_seq, ${SIZE} AS size FROM open_review WHERE provider = $3 AND fed_seq > $1 ORDER BY fed_seq LIMIT $2`,
  some:
    'SELECT *, (SELECT kel FROM agent WHERE aid = provider) AS held_kel,' +
    ' (SELECT kel FROM agent WHERE aid = reviewer) AS reviewer_kel FROM open_review' +
    ' WHERE fed_seq = ANY($1::bigint[]) ORDER BY fed_seq',
  edges:
    'SELECT fed_seq AS "fedSeq", provider, interaction, reviewer, rating FROM open_review WHERE fed_seq > $1' +
    ' ORDER BY fed_seq LIMIT $2',
  reputation:
    'SELECT coalesce(sum(n), 0)::bigint AS reviews, coalesce(sum(rated), 0)::bigint AS ratings,' +
    ' count(*) AS reviewers, coalesce(max(n), 0) AS "mostOfOne"' +
    ' FROM (SELECT count(*) AS n, sum(rating) AS rated FROM open_review WHERE provider = $1 GROUP BY reviewer) AS sources',
  sums:
    'SELECT provider, count(*) AS reviews, sum(rating)::bigint AS ratings FROM open_review' +
    ' WHERE provider = ANY($1::text[]) GROUP BY provider',
  totals: 'SELECT reviews, ratings, bytes FROM open_review_totals WHERE one = 1',
} as const

type Totals = { reviews: number; ratings: number; bytes: number }

export const addOpenReview: Write<AddOpenReview, { outcome: 'stored' | 'exists' | 'full' }> = {
  locks: () => ({ subjects: ['open reviews'] }),
  async make(db, given) {
    const { provider, interaction, reviewer, rating, providerKel, receipt, review, request, deliverable } =
      given
    if ((await db.one(openReviewQueries.reviewer, provider, interaction)) !== undefined)
      return { outcome: 'exists' }
    const blocks = [receipt, review, request, deliverable, providerKel]
    const bytes = blocks.reduce((sum, block) => sum + (block?.length ?? 0), 0)
    const held = (await db.one<Totals>(openReviewQueries.totals))?.bytes ?? 0
    if (held + bytes > given.bytesMax) return { outcome: 'full' }
    await db.run(
      'INSERT INTO open_review' +
        ' (provider, interaction, reviewer, rating, provider_kel, receipt, review, request, deliverable)' +
        ' VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)',
      ...[
        provider,
        interaction,
        reviewer,
        rating,
        providerKel ?? null,
        receipt,
        review,
        request,
        deliverable,
      ],
    )
    await db.run(
      'INSERT INTO open_review_totals (one, reviews, ratings, bytes) VALUES (1, 1, $1, $2) ON CONFLICT (one) DO UPDATE' +
        ' SET reviews = open_review_totals.reviews + 1, ratings = open_review_totals.ratings + $1,' +
        ' bytes = open_review_totals.bytes + $2',
      rating,
      bytes,
    )
    return { outcome: 'stored' }
  },
}

/** The sizes are asked for first, so that no more documents are read than one answer holds, but for their logs. */
async function read(
  reader: Queries,
  { provider, after, limit, bytesMax }: OpenReviewsQuery,
): Promise<HeldOpenReview[]> {
  type Size = { fed_seq: number; size: number }
  const sizes =
    provider === undefined
      ? await reader.all<Size>(openReviewQueries.sizes, after, limit)
      : await reader.all<Size>(openReviewQueries.sizesOf, after, limit, provider)
  let bytes = 0
  const over = sizes.findIndex(({ size }, index) => {
    bytes += size
    return index > 0 && bytes > bytesMax
  })
  const page = over < 0 ? sizes : sizes.slice(0, over)
  const rows = await reader.all<StoredOpenReview>(
    openReviewQueries.some,
    page.map(({ fed_seq }) => fed_seq),
  )
  let taken = 0
  const found = rows.map(openReviewOf)
  const end = found.findIndex((one, index) => {
    taken += sizeOfReview(one)
    return index > 0 && taken > bytesMax
  })
  return end < 0 ? found : found.slice(0, end)
}

export const openReviewsOver = (reader: Queries, writer: Writer): OpenReviewStore => ({
  addOpenReview: given => writer.write('addOpenReview', given),
  openReviewer: async (provider, interaction) =>
    (await reader.one<{ reviewer: string }>(openReviewQueries.reviewer, provider, interaction))?.reviewer,
  openReviews: query => read(reader, query),
  openReviewEdges: ({ after, limit }) => reader.all<OpenReviewEdge>(openReviewQueries.edges, after, limit),
  openReputation: async provider =>
    (await reader.one<Reputation>(openReviewQueries.reputation, provider)) ?? {
      ...{ reviews: 0, ratings: 0, reviewers: 0, mostOfOne: 0 },
    },
  async openSums(providers) {
    const rows = await reader.all<OpenSums & { provider: string }>(openReviewQueries.sums, providers)
    return new Map(rows.map(({ provider, ...sums }) => [provider, sums]))
  },
  async openReviewTotals() {
    const { reviews = 0, ratings = 0 } = (await reader.one<Totals>(openReviewQueries.totals)) ?? {}
    return { reviews, ratings }
  },
})
