/** What peers are told of the reviews given here, in PostgreSQL. Whoever changes what is told of an agent holds its lock. */
import type { ToldReview, ToldReviewsQuery } from '../peer-review-port.ts'
import type { StoredReview } from '../port.ts'
import type { Queries } from './connections.ts'

/** Told to every peer. */
const ALL = ''

export type Standing = { registered: boolean; visibility: string }

export const travels = ({ registered, visibility }: Standing): boolean =>
  registered && visibility !== 'hub-local'

/** Numbers a new review, where a peer is told of it. */
export async function tellReview(
  db: Queries,
  { provider, kel, home }: StoredReview,
  review: number,
): Promise<void> {
  const standing = await db.one<Standing>('SELECT registered, visibility FROM agent WHERE aid = $1', provider)
  if (standing?.registered === true) {
    if (travels(standing)) await tell(db, provider, ALL, review)
  } else if (home !== undefined) {
    await keepLog(db, provider, kel)
    await tell(db, provider, (await isCarded(db, provider, home)) ? ALL : home, review)
  }
}

/** The longest key history of an agent that is not registered here. */
async function keepLog(db: Queries, aid: string, kel: Uint8Array): Promise<void> {
  await db.run(
    'INSERT INTO review_provider (aid, kel) VALUES ($1, $2) ON CONFLICT (aid) DO UPDATE SET kel = excluded.kel' +
      ' WHERE length(excluded.kel) > length(review_provider.kel)',
    aid,
    kel,
  )
}

/** Whether its home has told that it is known beyond it. */
const isCarded = async (db: Queries, aid: string, home: string): Promise<boolean> =>
  (await db.one('SELECT 1 FROM peer_card WHERE hub = $1 AND aid = $2', home, aid)) !== undefined

/** The home of an agent told of it, or tells no more (no `kel`): so far its reviews travel from here. */
export async function followCard(
  db: Queries,
  { aid, hub, kel }: { aid: string; hub: string; kel: Uint8Array | undefined },
): Promise<void> {
  if ((await db.one(toldQueries.followed, aid, hub)) === undefined) return
  if (kel !== undefined) {
    await keepLog(db, aid, kel)
    await tellAll(db, aid)
  } else {
    await withdraw(db, aid)
    await tellEach(db, aid, hub)
  }
}

async function tell(db: Queries, provider: string, peer: string, review: number | null): Promise<void> {
  await db.run('INSERT INTO told_review (provider, peer, review) VALUES ($1, $2, $3)', provider, peer, review)
}

/** An agent came, left, or changed how far it is known: its reviews are told from here on, or withdrawn. */
export async function retellReviews(
  db: Queries,
  aid: string,
  { before, now }: { before: Standing; now: Standing },
): Promise<void> {
  if (travels(now) === travels(before) && now.registered === before.registered) return
  if (travels(now)) await tellAll(db, aid)
  else if (travels(before) || now.registered) await withdraw(db, aid)
}

/** Tells all peers of all reviews of an agent, which stand for whatever was told before. */
async function tellAll(db: Queries, aid: string): Promise<void> {
  await db.run('DELETE FROM told_review WHERE provider = $1', aid)
  await tellEach(db, aid, ALL)
}

async function tellEach(db: Queries, aid: string, peer: string): Promise<void> {
  await db.run(
    'INSERT INTO told_review (provider, peer, review) SELECT provider, $1, seq FROM review WHERE provider = $2 ORDER BY seq',
    peer,
    aid,
  )
}

/** Whoever was told of a review learns once that it is told no more. */
async function withdraw(db: Queries, aid: string): Promise<void> {
  const gone = await db.all<{ peer: string }>(
    'DELETE FROM told_review WHERE provider = $1 AND review IS NOT NULL RETURNING peer',
    aid,
  )
  for (const peer of new Set(gone.map(row => row.peer))) await tell(db, aid, peer, null)
}

export const toldQueries = {
  after:
    "SELECT fed_seq, provider, review FROM told_review WHERE peer IN ('', $1) AND fed_seq > $2" +
    ' ORDER BY fed_seq LIMIT $3',
  // reviewed here, not registered here, and told by no hub but this one
  followed:
    'SELECT WHERE EXISTS (SELECT FROM review WHERE provider = $1)' +
    ' AND NOT EXISTS (SELECT FROM agent WHERE aid = $1 AND registered)' +
    ' AND NOT EXISTS (SELECT FROM peer_card WHERE aid = $1 AND hub <> $2)',
  reviews: 'SELECT seq, receipt, review, attestation FROM review WHERE seq = ANY($1::bigint[])',
  // one that is registered here, one that came with a review, the last one
  kels:
    'SELECT asked.aid, coalesce((SELECT kel FROM agent WHERE agent.aid = asked.aid AND registered),' +
    ' (SELECT kel FROM review_provider AS other WHERE other.aid = asked.aid),' +
    ' (SELECT kel FROM agent WHERE agent.aid = asked.aid)) AS kel FROM unnest($1::text[]) AS asked (aid)',
} as const

type Head = { fed_seq: number; provider: string; review: number | null }
type Kept = Record<'receipt' | 'review' | 'attestation', Uint8Array>

export async function readTold(
  db: Queries,
  { peer, after, limit, bytesMax }: ToldReviewsQuery,
): Promise<{ told: ToldReview[]; more: boolean }> {
  const heads = await db.all<Head>(toldQueries.after, peer, after, limit + 1)
  const page = heads.slice(0, limit)
  const reviews = await db.all<Kept & { seq: number }>(
    toldQueries.reviews,
    page.flatMap(({ review }) => review ?? []),
  )
  const providers = [...new Set(page.map(({ provider }) => provider))]
  const kels = await db.all<{ aid: string; kel: Uint8Array | null }>(toldQueries.kels, providers)
  const kept = new Map(reviews.map(({ seq, ...one }) => [seq, one]))
  const kelOf = new Map(kels.map(({ aid, kel }) => [aid, kel]))
  const told: ToldReview[] = []
  let bytes = 0
  for (const head of page) {
    const one = toldOf(head, kept, kelOf)
    bytes += sizeOf(one)
    if (told.length > 0 && bytes > bytesMax) return { told, more: true }
    told.push(one)
  }
  return { told, more: heads.length > told.length }
}

function toldOf(
  { fed_seq: fedSeq, provider, review }: Head,
  reviews: ReadonlyMap<number, Kept>,
  kels: ReadonlyMap<string, Uint8Array | null>,
): ToldReview {
  if (review === null) return { fedSeq, withdrawn: provider }
  const kept = reviews.get(review)
  const kel = kels.get(provider)
  // a row of an agent or of a provider is there for each that is told, and neither is ever deleted
  if (kept === undefined || kel == null) throw new Error(`review ${fedSeq} is told and not there`)
  return { fedSeq, ...kept, kel }
}

const sizeOf = (one: ToldReview): number =>
  'withdrawn' in one ? 0 : one.receipt.length + one.review.length + one.attestation.length + one.kel.length
