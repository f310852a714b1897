/** Reviews in PostgreSQL: those given here, one an interaction, and those that peers attest. */
import type { PeerReview, PeerReviewStore, SourceReviews, TakePeerReviews } from '../peer-review-port.ts'
import type { Reputation, Store, StoreCounts, StoredReview } from '../port.ts'
import { agentQueries } from './agents.ts'
import type { Queries, Value } from './connections.ts'
import type { Write } from './groups.ts'
import { numberAll } from './told-numbers.ts'
import { readTold, tellReview } from './told-reviews.ts'
import type { Writer } from './writes.ts'

/** Other writes have their turn in between. */
const FORGOTTEN_AT_ONCE = 1000

export const reviewQueries = {
  exists: 'SELECT 1 FROM review WHERE provider = $1 AND interaction = $2',
  reputation:
    'SELECT coalesce(sum(n), 0)::bigint AS reviews, coalesce(sum(rated), 0)::bigint AS ratings,' +
    ' count(*) AS reviewers, coalesce(max(n), 0) AS "mostOfOne"' +
    ' FROM (SELECT count(*) AS n, sum(rating) AS rated FROM review WHERE provider = $1 GROUP BY reviewer) AS sources',
  totals: 'SELECT count(*) AS reviews, coalesce(sum(rating), 0)::bigint AS ratings FROM review',
  read: 'SELECT fed_seq, reviews FROM peer_reviews_read WHERE hub = $1',
  peerReputation:
    'SELECT hub, count(*) AS reviews, sum(rating)::bigint AS ratings FROM peer_review AS told' +
    ' WHERE provider = $1 AND hub = ANY($2::text[])' +
    ' AND NOT EXISTS (SELECT FROM review WHERE review.provider = $1 AND review.interaction = told.interaction)' +
    ' AND NOT EXISTS (SELECT FROM open_review AS own WHERE own.provider = $1 AND own.interaction = told.interaction)' +
    ' AND NOT EXISTS (SELECT FROM peer_review AS first WHERE first.provider = $1' +
    ' AND first.interaction = told.interaction AND first.n < told.n AND first.hub = ANY($2::text[]))' +
    ' GROUP BY hub ORDER BY hub',
} as const

export const addReview: Write<StoredReview, boolean> = {
  locks: ({ provider }) => ({ aids: [provider] }),
  async make(db, review) {
    const added = await db.one<{ seq: number }>(
      'INSERT INTO review (provider, interaction, reviewer, rating, receipt, review, attestation)' +
        ' VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING RETURNING seq',
      review.provider,
      review.interaction,
      review.reviewer,
      review.rating,
      review.receipt,
      review.review,
      review.attestation,
    )
    if (added === undefined) return false
    await tellReview(db, review, added.seq)
    return true
  },
}

type Read = { fed_seq: number; reviews: number }

const readOf = async (db: Queries, hub: string): Promise<Read> =>
  (await db.one<Read>(reviewQueries.read, hub)) ?? { fed_seq: 0, reviews: 0 }

/** All that a peer tells is taken in one order. */
const locksOf = (hub: string) => ({ subjects: [`reviews of ${hub}`] })

export const takePeerReviews: Write<TakePeerReviews, { left: number }> = {
  locks: ({ hub }) => locksOf(hub),
  async make(db, { hub, items, fedSeq, max }) {
    const held = await readOf(db, hub)
    let { reviews } = held
    let left = 0
    for (const item of items) {
      const isFull = reviews >= max && !('withdrawn' in item) && !(await isKept(db, hub, item))
      if (isFull) left += 1
      else reviews += await take(db, hub, item)
    }
    await db.run(
      'INSERT INTO peer_reviews_read (hub, fed_seq, reviews) VALUES ($1, $2, $3)' +
        ' ON CONFLICT (hub) DO UPDATE SET fed_seq = excluded.fed_seq, reviews = excluded.reviews',
      hub,
      Math.max(held.fed_seq, fedSeq),
      reviews,
    )
    return { left }
  },
}

type Reviewed = Exclude<PeerReview, { withdrawn: string }>

const isKept = async (db: Queries, hub: string, { provider, interaction }: Reviewed): Promise<boolean> =>
  (await db.one(
    'SELECT 1 FROM peer_review WHERE provider = $1 AND interaction = $2 AND hub = $3',
    ...[provider, interaction, hub],
  )) !== undefined

/** By how many the reviews of this hub became more. */
async function take(db: Queries, hub: string, item: PeerReview): Promise<number> {
  if ('withdrawn' in item)
    return -(await db.run('DELETE FROM peer_review WHERE hub = $1 AND provider = $2', hub, item.withdrawn))
  const given: Value[] = [item.provider, item.interaction, hub, item.rating]
  return await db.run(
    'INSERT INTO peer_review (provider, interaction, hub, rating) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING',
    ...given,
  )
}

/** Some at a time; whether that was all. A peer of which some are left is read from the start. */
export const forgetPeerReviews: Write<string, boolean> = {
  locks: locksOf,
  async make(db, hub) {
    const forgotten = await db.run(
      'DELETE FROM peer_review WHERE n IN (SELECT n FROM peer_review WHERE hub = $1 LIMIT $2)',
      hub,
      FORGOTTEN_AT_ONCE,
    )
    const isAll = forgotten < FORGOTTEN_AT_ONCE
    if (isAll) await db.run('DELETE FROM peer_reviews_read WHERE hub = $1', hub)
    else
      await db.run(
        'UPDATE peer_reviews_read SET fed_seq = 0, reviews = reviews - $1 WHERE hub = $2',
        forgotten,
        hub,
      )
    return isAll
  },
}

async function counts(reader: Queries, seenSinceMs: number): Promise<StoreCounts> {
  const count = async (sql: string, ...values: Value[]) =>
    (await reader.one<{ n: number }>(sql, ...values))?.n ?? 0
  const totals = await reader.one<{ reviews: number; ratings: number }>(reviewQueries.totals)
  return {
    reviews: totals?.reviews ?? 0,
    ratings: totals?.ratings ?? 0,
    agents: await count(agentQueries.registered),
    onlineAgents: await count(agentQueries.online, seenSinceMs),
  }
}

type Reviews = PeerReviewStore & Pick<Store, 'hasReview' | 'addReview' | 'reputation' | 'counts'>

export const reviewsOver = (reader: Queries, writer: Writer): Reviews => ({
  hasReview: async (provider, interaction) =>
    (await reader.one(reviewQueries.exists, provider, interaction)) !== undefined,
  addReview: review => writer.write('addReview', review),
  async reputation(provider) {
    const sums = await reader.one<Reputation>(reviewQueries.reputation, provider)
    return sums ?? { reviews: 0, ratings: 0, reviewers: 0, mostOfOne: 0 }
  },
  counts: seenSinceMs => counts(reader, seenSinceMs),
  async toldReviews(query) {
    await numberAll(reader, writer, 'told_review')
    return await readTold(reader, query)
  },
  takePeerReviews: given => writer.write('takePeerReviews', given),
  peerReviewsRead: async hub => (await readOf(reader, hub)).fed_seq,
  async forgetPeerReviews(hub) {
    while (!(await writer.write('forgetPeerReviews', hub)));
  },
  peerReputation: (provider, hubs) => reader.all<SourceReviews>(reviewQueries.peerReputation, provider, hubs),
})
