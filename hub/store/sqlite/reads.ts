/** The questions that the hub asks its database, on the connection that only reads. */
import type {
  Account,
  AgentRow,
  BucketQuery,
  DeliveryState,
  DirectoryEntry,
  MailTotals,
  StoreCounts,
  WaitingEnvelope,
} from '../port.ts'
import { fitting } from '../queueing.ts'
import { accountOf, agentOf, type StoredAccount, type StoredAgent } from '../rows.ts'
import type { Database } from './database.ts'
import { openQueries } from './open-mail-store.ts'
import { ridOf, ridsOf } from './rids.ts'

/** Hot queries by name, so that a test can ask the engine how it runs them. */
export const hotQueries = {
  pollSizes:
    'SELECT id, accepted_ms, size, file FROM envelope WHERE mailbox = ? AND id > ? AND delete_ms > ?' +
    ' ORDER BY id LIMIT ?',
  content: 'SELECT content FROM envelope WHERE mailbox = ? AND id = ?',
  waitingAt: "SELECT 1 FROM envelope WHERE mailbox = ? AND id = ? AND rid = x''",
  waitingGiven: "SELECT 1 FROM envelope WHERE rid = ? AND rid <> x''",
  strangersWaiting: 'SELECT stranger_envelopes AS count FROM mailbox WHERE number = ?',
  delivery: 'SELECT handle, dack, fetched FROM delivery WHERE rid = ?',
  waitingDigest:
    'SELECT envelope.id, rid FROM digest JOIN envelope ON envelope.mailbox = digest.mailbox AND envelope.id = digest.waiting' +
    ' WHERE digest.mailbox = ? AND digest.digest = ?',
  agent: 'SELECT * FROM agent WHERE aid = ?',
  account: 'SELECT * FROM account WHERE aid = ?',
  bucket: 'SELECT h, box FROM directory WHERE h >= ? AND h <= ? ORDER BY h',
  bucketAfter: 'SELECT h, box FROM directory WHERE h > ? AND h <= ? ORDER BY h',
  bucketOfPeers:
    "SELECT h, box FROM directory JOIN agent ON agent.number = directory.agent WHERE h >= ? AND h <= ? AND visibility <> 'hub-local' ORDER BY h",
  bucketOfPeersAfter:
    "SELECT h, box FROM directory JOIN agent ON agent.number = directory.agent WHERE h > ? AND h <= ? AND visibility <> 'hub-local' ORDER BY h",
  capExact: 'SELECT aid FROM agent_cap WHERE cap = ? AND aid > ? ORDER BY aid',
  listed: 'SELECT * FROM agent WHERE registered = 1 AND aid > ? ORDER BY aid',
  listedOpen: "SELECT * FROM agent WHERE registered = 1 AND mail = 'open' AND aid > ? ORDER BY aid",
  cardTerm: 'SELECT aid FROM card_term WHERE term = ? AND aid > ? ORDER BY aid',
  hasTerm: 'SELECT 1 FROM card_term WHERE term = ? AND aid = ?',
  listedPublic: "SELECT * FROM agent WHERE registered = 1 AND visibility = 'public' AND aid > ? ORDER BY aid",
  revoked: 'SELECT 1 FROM revocation WHERE mailbox = ? AND capability = ?',
  setting: 'SELECT value FROM setting WHERE name = ?',
  fileUsed: 'SELECT 1 FROM envelope WHERE file = ?',
} as const

type WaitingHead = { id: number; accepted_ms: number; size: number; file: string | null }

export function readPoll(
  db: Database,
  query: { mailbox: number; afterId: number; limit: number; bytesMax: number; nowMs: number },
): { envelopes: WaitingEnvelope[]; more: boolean } {
  const heads = db.all<WaitingHead>(
    hotQueries.pollSizes,
    query.mailbox,
    query.afterId,
    query.nowMs,
    query.limit + 1,
  )
  const count = fitting(
    heads.map(({ size }) => size),
    query,
  )
  const envelopes = heads.slice(0, count).map(head => ({
    id: head.id,
    acceptedMs: head.accepted_ms,
    size: head.size,
    file: head.file ?? undefined,
  }))
  return { envelopes, more: heads.length > count }
}

export function readContents(
  db: Database,
  { mailbox, ids }: { mailbox: number; ids: readonly number[] },
): ReadonlyMap<number, Uint8Array> {
  const contents = new Map<number, Uint8Array>()
  for (const id of ids) {
    const row = db.one<{ content: Uint8Array | null }>(hotQueries.content, mailbox, id)
    if (row?.content != null) contents.set(id, row.content)
  }
  return contents
}

export function readStatus(db: Database, rid: Uint8Array): DeliveryState {
  type Delivery = { handle: Uint8Array | null; dack: Uint8Array | null; fetched: number }
  const delivery = db.one<Delivery>(hotQueries.delivery, rid)
  if (delivery !== undefined) {
    const { handle, dack, fetched } = delivery
    return { state: 'done', handle: handle ?? undefined, dack: dack ?? undefined, fetched: fetched === 1 }
  }
  return { state: waits(db, rid) ? 'queued' : 'unknown' }
}

function waits(db: Database, rid: Uint8Array): boolean {
  const place = ridsOf(db).placeOf(rid)
  if (place !== undefined && db.one(hotQueries.waitingAt, place.mailbox, place.id) !== undefined) return true
  return db.one(hotQueries.waitingGiven, rid) !== undefined
}

export function readQueued(db: Database, mailbox: number, digest: Uint8Array): Uint8Array | undefined {
  const first = db.one<{ id: number; rid: Uint8Array }>(hotQueries.waitingDigest, mailbox, digest)
  return first === undefined ? undefined : ridOf(db, { mailbox, ...first })
}

export function readStrangersWaiting(db: Database, mailbox: number): number {
  return db.one<{ count: number }>(hotQueries.strangersWaiting, mailbox)?.count ?? 0
}

export function readAgent(db: Database, aid: string): AgentRow | undefined {
  const stored = db.one<StoredAgent>(hotQueries.agent, aid)
  return stored === undefined ? undefined : agentOf(stored)
}

export function readAccount(db: Database, aid: string): Account {
  return accountOf(db.one<StoredAccount>(hotQueries.account, aid))
}

export function readBucket(
  db: Database,
  { first, last, afterH, onlyFederated, limit, bytesMax }: BucketQuery,
): { entries: DirectoryEntry[]; more: boolean } {
  const [whole, rest] = onlyFederated
    ? [hotQueries.bucketOfPeers, hotQueries.bucketOfPeersAfter]
    : [hotQueries.bucket, hotQueries.bucketAfter]
  const sql = afterH === undefined ? whole : rest
  const entries: DirectoryEntry[] = []
  let bytes = 0
  for (const entry of db.each<DirectoryEntry>(sql, afterH ?? first, last)) {
    bytes += entry.box.length
    const full = entries.length === limit || bytes > bytesMax
    if (full && entries.length > 0) return { entries, more: true }
    entries.push(entry)
  }
  return { entries, more: false }
}

export function readTotals(db: Database): MailTotals {
  const sums = db.one<Record<keyof MailTotals, number | null>>(
    'SELECT count(*) AS mailboxes, sum(envelopes) AS envelopes, sum(bytes) AS bytes,' +
      ' sum(stranger_envelopes) AS strangerEnvelopes, sum(revocations) AS revocations FROM mailbox',
  )
  return {
    mailboxes: sums?.mailboxes ?? 0,
    envelopes: sums?.envelopes ?? 0,
    bytes: sums?.bytes ?? 0,
    strangerEnvelopes: sums?.strangerEnvelopes ?? 0,
    revocations: sums?.revocations ?? 0,
  }
}

export function readCounts(db: Database, seenSinceMs: number): StoreCounts {
  const count = (sql: string, ...values: number[]): number => db.one<{ n: number }>(sql, ...values)?.n ?? 0
  const reviewed = db.one<{ n: number; sum: number | null }>(
    'SELECT count(*) AS n, sum(rating) AS sum FROM review',
  )
  return {
    reviews: reviewed?.n ?? 0,
    ratings: reviewed?.sum ?? 0,
    agents: count('SELECT count(*) AS n FROM agent WHERE registered = 1') - count(openQueries.agents),
    onlineAgents: count(
      'SELECT count(*) AS n FROM agent WHERE registered = 1 AND seen_hour_ms >= ?',
      seenSinceMs,
    ),
  }
}

export function readSetting(db: Database, name: string): string | undefined {
  const value = db.one<{ value: unknown }>(hotQueries.setting, name)?.value
  return value === undefined ? undefined : String(value)
}
