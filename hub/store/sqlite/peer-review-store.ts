/** Reviews that peers attest, in the database, and how far each peer was read. Changes run inside a transaction. */
import type { PeerReview, PeerReviewStore, SourceReviews, TakePeerReviews } from '../peer-review-port.ts'
import type { Database } from './database.ts'
import { readTold } from './told-reviews.ts'
import type { WriterClient } from './writer-client.ts'

export const peerReviewQueries = {
  read: 'SELECT fed_seq, reviews FROM peer_reviews_read WHERE hub = ?',
  reputation:
    'SELECT hub, count(*) AS reviews, sum(rating) AS ratings FROM peer_review AS told' +
    ' WHERE provider = ?1 AND hub IN (SELECT value FROM json_each(?2))' +
    ' AND NOT EXISTS (SELECT 1 FROM review WHERE review.provider = ?1 AND review.interaction = told.interaction)' +
    ' AND NOT EXISTS (SELECT 1 FROM open_review AS own WHERE own.provider = ?1 AND own.interaction = told.interaction)' +
    ' AND NOT EXISTS (SELECT 1 FROM peer_review AS first WHERE first.provider = ?1' +
    ' AND first.interaction = told.interaction AND first.n < told.n AND first.hub IN (SELECT value FROM json_each(?2)))' +
    ' GROUP BY hub',
} as const

/** Other writes have their turn in between. */
const FORGOTTEN_AT_ONCE = 1000

type Read = { fed_seq: number; reviews: number }

const readOf = (db: Database, hub: string): Read =>
  db.one<Read>(peerReviewQueries.read, hub) ?? { fed_seq: 0, reviews: 0 }

export function takePeerReviews(
  db: Database,
  { hub, items, fedSeq, max }: TakePeerReviews,
): { left: number } {
  const held = readOf(db, hub)
  let { reviews } = held
  let left = 0
  for (const item of items) {
    const isFull = reviews >= max && !('withdrawn' in item) && !isKept(db, hub, item)
    if (isFull) left += 1
    else reviews += take(db, hub, item)
  }
  db.run(
    'INSERT INTO peer_reviews_read (hub, fed_seq, reviews) VALUES (?, ?, ?)' +
      ' ON CONFLICT (hub) DO UPDATE SET fed_seq = excluded.fed_seq, reviews = excluded.reviews',
    hub,
    Math.max(held.fed_seq, fedSeq),
    reviews,
  )
  return { left }
}

/** Some at a time; whether that was all. A peer of which some are left is read from the start. */
export function forgetPeerReviews(db: Database, hub: string): boolean {
  const forgotten = db.run(
    'DELETE FROM peer_review WHERE n IN (SELECT n FROM peer_review WHERE hub = ? LIMIT ?)',
    hub,
    FORGOTTEN_AT_ONCE,
  )
  const isAll = forgotten < FORGOTTEN_AT_ONCE
  if (isAll) db.run('DELETE FROM peer_reviews_read WHERE hub = ?', hub)
  else db.run('UPDATE peer_reviews_read SET fed_seq = 0, reviews = reviews - ? WHERE hub = ?', forgotten, hub)
  return isAll
}

type Reviewed = Exclude<PeerReview, { withdrawn: string }>

const isKept = (db: Database, hub: string, { provider, interaction }: Reviewed): boolean =>
  db.one(
    'SELECT 1 FROM peer_review WHERE provider = ? AND interaction = ? AND hub = ?',
    provider,
    interaction,
    hub,
  ) !== undefined

/** By how many the reviews of this hub became more. */
function take(db: Database, hub: string, item: PeerReview): number {
  if ('withdrawn' in item)
    return -db.run('DELETE FROM peer_review WHERE hub = ? AND provider = ?', hub, item.withdrawn)
  return db.run(
    'INSERT OR IGNORE INTO peer_review (provider, interaction, hub, rating) VALUES (?, ?, ?, ?)',
    item.provider,
    item.interaction,
    hub,
    item.rating,
  )
}

const readPeerReputation = (db: Database, provider: string, hubs: readonly string[]): SourceReviews[] =>
  hubs.length === 0 ? [] : db.all<SourceReviews>(peerReviewQueries.reputation, provider, JSON.stringify(hubs))

export function peerReviewsOver(reader: Database, writer: WriterClient): PeerReviewStore {
  return {
    toldReviews: async query => readTold(reader, query),
    takePeerReviews: given => writer.write('takePeerReviews', given),
    peerReviewsRead: async hub => readOf(reader, hub).fed_seq,
    async forgetPeerReviews(hub) {
      while (!(await writer.write('forgetPeerReviews', hub)));
    },
    peerReputation: async (provider, hubs) => readPeerReputation(reader, provider, hubs),
  }
}
