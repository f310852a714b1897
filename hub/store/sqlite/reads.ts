/** The questions that the hub asks its database, on the connection that only reads. */
import type {
  Account,
  AgentRow,
  DeliveryState,
  DirectoryEntry,
  ListQuery,
  MailTotals,
  StoreCounts,
  WaitingEnvelope,
} from '../port.ts'
import type { Database } from './database.ts'
import { accountOf, agentOf, type StoredAccount, type StoredAgent } from './rows.ts'

/** Hot queries by name, so that a test can ask the engine how it runs them. */
export const hotQueries = {
  pollSizes:
    'SELECT id, accepted_ms, size, file FROM envelope WHERE mailbox = ? AND id > ? AND delete_ms > ?' +
    ' ORDER BY id LIMIT ?',
  content: 'SELECT id, content FROM envelope WHERE mailbox = ? AND id BETWEEN ? AND ? ORDER BY id',
  waitingRid: 'SELECT 1 FROM envelope WHERE rid = ?',
  delivery: 'SELECT handle, dack, fetched FROM delivery WHERE rid = ?',
  waitingDigest:
    'SELECT rid FROM digest JOIN envelope ON envelope.mailbox = digest.mailbox AND envelope.id = digest.waiting' +
    ' WHERE digest.mailbox = ? AND digest.digest = ?',
  agent: 'SELECT * FROM agent WHERE aid = ?',
  account: 'SELECT * FROM account WHERE aid = ?',
  bucket: 'SELECT h, box FROM directory WHERE h >= ? AND h <= ? ORDER BY h LIMIT ?',
  bucketAfter: 'SELECT h, box FROM directory WHERE h > ? AND h <= ? ORDER BY h LIMIT ?',
  capExact: 'SELECT aid FROM agent_cap WHERE cap = ? AND aid > ? ORDER BY aid LIMIT ?',
  capFamily: 'SELECT aid FROM agent_cap WHERE cap >= ? AND cap < ? AND aid > ?',
  listed: 'SELECT * FROM agent WHERE registered = 1 AND aid > ? ORDER BY aid LIMIT ?',
  cardTerm: 'SELECT aid FROM card_term WHERE term = ? AND aid > ? ORDER BY aid',
  hasTerm: 'SELECT 1 FROM card_term WHERE term = ? AND aid = ?',
  carded: 'SELECT * FROM agent WHERE registered = 1 AND card IS NOT NULL AND aid > ? ORDER BY aid LIMIT ?',
  revoked: 'SELECT 1 FROM revocation WHERE mailbox = ? AND capability = ?',
  setting: 'SELECT value FROM setting WHERE name = ?',
  fileUsed: 'SELECT 1 FROM envelope WHERE file = ?',
} as const

const LISTED_WITH_TEXT =
  'SELECT * FROM agent WHERE registered = 1 AND aid > ?1 AND' +
  ' instr(lower(aid || char(10) || name || char(10) || caps || char(10) || summary || char(10) || readme), lower(?3)) > 0' +
  ' ORDER BY aid LIMIT ?2'

/** SQLite's word for no limit. */
const ALL = -1

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
  let bytes = 0
  let count = 0
  for (const head of heads) {
    bytes += head.size
    if (count === query.limit || (count > 0 && bytes > query.bytesMax)) break
    count += 1
  }
  const taken = heads.slice(0, count)
  const first = taken[0]
  const last = taken.at(-1)
  if (first === undefined || last === undefined) return { envelopes: [], more: false }
  const contents = new Map<number, Uint8Array | null>()
  for (const row of db.all<{ id: number; content: Uint8Array | null }>(
    hotQueries.content,
    query.mailbox,
    first.id,
    last.id,
  ))
    contents.set(row.id, row.content)
  const envelopes = taken
    .filter(head => contents.has(head.id))
    .map(head => ({
      id: head.id,
      acceptedMs: head.accepted_ms,
      size: head.size,
      content: contents.get(head.id) ?? undefined,
      file: head.file ?? undefined,
    }))
  return { envelopes, more: heads.length > count }
}

export function readStatus(db: Database, rid: Uint8Array): DeliveryState {
  type Delivery = { handle: Uint8Array | null; dack: Uint8Array | null; fetched: number }
  const delivery = db.one<Delivery>(hotQueries.delivery, rid)
  if (delivery !== undefined) {
    const { handle, dack, fetched } = delivery
    return { state: 'done', handle: handle ?? undefined, dack: dack ?? undefined, fetched: fetched === 1 }
  }
  return { state: db.one(hotQueries.waitingRid, rid) === undefined ? 'unknown' : 'queued' }
}

export function readQueued(db: Database, mailbox: number, digest: Uint8Array): Uint8Array | undefined {
  return db.one<{ rid: Uint8Array }>(hotQueries.waitingDigest, mailbox, digest)?.rid
}

export function readAgent(db: Database, aid: string): AgentRow | undefined {
  const stored = db.one<StoredAgent>(hotQueries.agent, aid)
  return stored === undefined ? undefined : agentOf(stored)
}

export function readAccount(db: Database, aid: string): Account {
  return accountOf(db.one<StoredAccount>(hotQueries.account, aid))
}

export function readList(db: Database, query: ListQuery): AgentRow[] {
  const { afterAid, limit, text, caps } = query
  if (caps !== undefined) return readWithCaps(db, caps, query)
  if (query.terms !== undefined && query.terms.length > 0) return readWithTerms(db, query.terms, query)
  if (query.carded === true) return db.all<StoredAgent>(hotQueries.carded, afterAid, limit).map(agentOf)
  const rows =
    text === undefined
      ? db.all<StoredAgent>(hotQueries.listed, afterAid, limit)
      : db.all<StoredAgent>(LISTED_WITH_TEXT, afterAid, limit, text)
  return rows.map(agentOf)
}

/** Agents with any of the tags; a tag that ends in `*` stands for every tag that begins with what is before it. */
function readWithCaps(db: Database, caps: readonly string[], query: ListQuery): AgentRow[] {
  const { afterAid, limit, text } = query
  const found = new Set<string>()
  for (const cap of caps) {
    const rows = cap.endsWith('*')
      ? db.all<{ aid: string }>(
          hotQueries.capFamily,
          cap.slice(0, -1),
          `${cap.slice(0, -1)}\u{10ffff}`,
          afterAid,
        )
      : db.all<{ aid: string }>(hotQueries.capExact, cap, afterAid, text === undefined ? limit : ALL)
    for (const { aid } of rows) found.add(aid)
  }
  const page: AgentRow[] = []
  for (const aid of [...found].sort()) {
    if (page.length === limit) break
    const row = readAgent(db, aid)
    if (row !== undefined && (text === undefined || fieldsOf(row).includes(text.toLowerCase())))
      page.push(row)
  }
  return page
}

/** Agents whose cards have every term and whose fields hold the text, where one is given. */
function readWithTerms(db: Database, terms: readonly string[], query: ListQuery): AgentRow[] {
  const [first = '', ...others] = terms
  const text = query.text?.toLowerCase()
  const page: AgentRow[] = []
  for (const { aid } of db.all<{ aid: string }>(hotQueries.cardTerm, first, query.afterAid)) {
    if (page.length === query.limit) break
    if (!others.every(term => db.one(hotQueries.hasTerm, term, aid) !== undefined)) continue
    const row = readAgent(db, aid)
    if (row !== undefined && (text === undefined || fieldsOf(row).includes(text))) page.push(row)
  }
  return page
}

const fieldsOf = (row: AgentRow): string =>
  [row.aid, row.name, ...row.caps, row.summary, row.readme].join('\n').toLowerCase()

export function readBucket(
  db: Database,
  query: { first: Uint8Array; last: Uint8Array; afterH: Uint8Array | undefined; limit: number },
): DirectoryEntry[] {
  const { first, last, afterH, limit } = query
  if (afterH === undefined) return db.all<DirectoryEntry>(hotQueries.bucket, first, last, limit)
  return db.all<DirectoryEntry>(hotQueries.bucketAfter, afterH, last, limit)
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
    agents: count('SELECT count(*) AS n FROM agent WHERE registered = 1'),
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
