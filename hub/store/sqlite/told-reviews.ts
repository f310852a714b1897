/** What peers are told of the reviews given here. Changes run inside a transaction. */
import type { ToldReview, ToldReviewsQuery } from '../peer-review-port.ts'
import type { StoredReview } from '../port.ts'
import type { Database } from './database.ts'
import { lastGiven, setLastGiven } from './sequences.ts'

/** Told to every peer. */
const ALL = ''

export type Standing = { registered: boolean; visibility: string }

export const travels = ({ registered, visibility }: Standing): boolean =>
  registered && visibility !== 'hub-local'

/** Numbers a new review, where a peer is told of it. */
export function tellReview(db: Database, { provider, kel, home }: StoredReview, review: number): void {
  const standing = db.one<{ registered: number; visibility: string }>(
    'SELECT registered, visibility FROM agent WHERE aid = ?',
    provider,
  )
  if (standing?.registered === 1) {
    if (travels({ ...standing, registered: true })) tell(db, provider, ALL, review)
  } else if (home !== undefined) {
    keepLog(db, provider, kel)
    tell(db, provider, isCarded(db, provider, home) ? ALL : home, review)
  }
}

/** The longest key history of an agent that is not registered here. */
function keepLog(db: Database, aid: string, kel: Uint8Array): void {
  db.run(
    'INSERT INTO review_provider (aid, kel) VALUES (?, ?) ON CONFLICT (aid) DO UPDATE SET kel = excluded.kel' +
      ' WHERE length(excluded.kel) > length(kel)',
    aid,
    kel,
  )
}

/** Whether its home has told that it is known beyond it. */
const isCarded = (db: Database, aid: string, home: string): boolean =>
  db.one('SELECT 1 FROM peer_card WHERE hub = ? AND aid = ?', home, aid) !== undefined

/** The home of an agent told of it, or tells no more (no `kel`): so far its reviews travel from here. */
export function followCard(
  db: Database,
  { aid, hub, kel }: { aid: string; hub: string; kel: Uint8Array | undefined },
): void {
  const isElsewhere = db.one('SELECT 1 FROM agent WHERE aid = ? AND registered = 1', aid) === undefined
  const isReviewed = db.one('SELECT 1 FROM review WHERE provider = ?', aid) !== undefined
  const isOfOther = db.one('SELECT 1 FROM peer_card WHERE aid = ? AND hub <> ?', aid, hub) !== undefined
  if (!isElsewhere || !isReviewed || isOfOther) return
  if (kel !== undefined) {
    keepLog(db, aid, kel)
    tellAll(db, aid)
  } else {
    withdraw(db, aid)
    tellEach(db, aid, hub)
  }
}

function tell(db: Database, provider: string, peer: string, review: number | null): void {
  db.run('INSERT INTO told_review (provider, peer, review) VALUES (?, ?, ?)', provider, peer, review)
}

/** An agent came, left, or changed how far it is known: its reviews are told from here on, or withdrawn. */
export function retellReviews(
  db: Database,
  aid: string,
  { before, now }: { before: Standing; now: Standing },
): void {
  if (travels(now) === travels(before) && now.registered === before.registered) return
  if (travels(now)) tellAll(db, aid)
  else if (travels(before) || now.registered) withdraw(db, aid)
}

/** Tells all peers of all reviews of an agent, which stand for whatever was told before. */
function tellAll(db: Database, aid: string): void {
  db.run('DELETE FROM told_review WHERE provider = ?', aid)
  tellEach(db, aid, ALL)
}

function tellEach(db: Database, aid: string, peer: string): void {
  db.run(
    'INSERT INTO told_review (provider, peer, review) SELECT provider, ?, seq FROM review WHERE provider = ? ORDER BY seq',
    peer,
    aid,
  )
}

/** Whoever was told of a review learns once that it is told no more. */
function withdraw(db: Database, aid: string): void {
  const peers = db.all<{ peer: string }>(
    'SELECT DISTINCT peer FROM told_review WHERE provider = ? AND review IS NOT NULL',
    aid,
  )
  db.run('DELETE FROM told_review WHERE provider = ? AND review IS NOT NULL', aid)
  for (const { peer } of peers) tell(db, aid, peer, null)
}

/** Numbers that the lost days of a hub may have given out lie below the next one by at least so much. */
export function skipFedSeqs(db: Database, count: number): void {
  for (const table of ['told_review', 'told_card', 'open_review', 'open_card'])
    setLastGiven(db, table, lastGiven(db, table) + count)
}

export const toldQueries = {
  // one statement, so that no number is committed between what all are told and what one is
  after:
    "SELECT fed_seq, provider, review FROM told_review WHERE peer = '' AND fed_seq > ?" +
    ' UNION ALL SELECT fed_seq, provider, review FROM told_review WHERE peer = ? AND fed_seq > ?' +
    ' ORDER BY fed_seq LIMIT ?',
  review: 'SELECT receipt, review, attestation FROM review WHERE seq = ?',
  registeredKel: 'SELECT kel FROM agent WHERE aid = ? AND registered = 1',
  kelOfReview: 'SELECT kel FROM review_provider WHERE aid = ?',
  lastKel: 'SELECT kel FROM agent WHERE aid = ?',
} as const

type Head = { fed_seq: number; provider: string; review: number | null }

export function readTold(
  db: Database,
  { peer, after, limit, bytesMax }: ToldReviewsQuery,
): { told: ToldReview[]; more: boolean } {
  const heads = db.all<Head>(toldQueries.after, after, peer, after, limit + 1)
  const told: ToldReview[] = []
  let bytes = 0
  for (const head of heads.slice(0, limit)) {
    const one = toldOf(db, head)
    bytes += sizeOf(one)
    if (told.length > 0 && bytes > bytesMax) return { told, more: true }
    told.push(one)
  }
  return { told, more: heads.length > told.length }
}

function toldOf(db: Database, { fed_seq: fedSeq, provider, review }: Head): ToldReview {
  if (review === null) return { fedSeq, withdrawn: provider }
  const kept = db.one<Record<'receipt' | 'review' | 'attestation', Uint8Array>>(toldQueries.review, review)
  const kel = kelOf(db, provider)
  // a row of an agent or of a provider is there for each that is told, and neither is ever deleted
  if (kept === undefined || kel === undefined) throw new Error(`review ${fedSeq} is told and not there`)
  return { fedSeq, ...kept, kel }
}

function kelOf(db: Database, provider: string): Uint8Array | undefined {
  const { registeredKel, kelOfReview, lastKel } = toldQueries
  for (const sql of [registeredKel, kelOfReview, lastKel]) {
    const row = db.one<{ kel: Uint8Array }>(sql, provider)
    if (row !== undefined) return row.kel
  }
  return undefined
}

const sizeOf = (one: ToldReview): number =>
  'withdrawn' in one ? 0 : one.receipt.length + one.review.length + one.attestation.length + one.kel.length
