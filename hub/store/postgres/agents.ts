/** The registry in PostgreSQL: agent rows, what finds them, proofs of forks. */
import { askedIn } from '../listing.ts'
import type {
  AgentRow,
  BucketQuery,
  DirectoryEntry,
  ForkProof,
  ListedAgents,
  ListQuery,
  PutAgent,
  PutAgentResult,
  Store,
} from '../port.ts'
import { agentOf, type StoredAgent } from '../rows.ts'
import type { Queries, Value } from './connections.ts'
import type { Write } from './groups.ts'
import { takeInvite } from './invites.ts'
import { addMailbox, emptyMailbox } from './mail-rows.ts'
import { isArchived, markArchived } from './moderation.ts'
import { keepAway } from './open-mail.ts'
import { retellCard } from './peer-cards.ts'
import { signUpQueries, signUpsOf, takeSignUp } from './sign-ups.ts'
import { Together } from './together.ts'
import { retellReviews, travels } from './told-reviews.ts'
import type { Writer } from './writes.ts'

const PAGE_ROWS = 100

export const agentQueries = {
  agents: 'SELECT * FROM agent WHERE aid = ANY($1::text[])',
  // whether key history and key set are those that it has
  held:
    'SELECT number, version, registered, visibility, kel = $2 AND keys IS NOT DISTINCT FROM $3 AS same_keys' +
    ' FROM agent WHERE aid = $1',
  listed: 'SELECT * FROM agent WHERE registered AND aid > $1 ORDER BY aid LIMIT $2',
  listedOpen: "SELECT * FROM agent WHERE registered AND mail = 'open' AND aid > $1 ORDER BY aid LIMIT $2",
  listedPublic:
    "SELECT * FROM agent WHERE registered AND visibility = 'public' AND aid > $1 ORDER BY aid LIMIT $2",
  capExact:
    'SELECT agent.* FROM agent_cap JOIN agent USING (aid) WHERE aid > $1 AND cap = $3 ORDER BY aid LIMIT $2',
  cardTerm:
    'SELECT agent.* FROM card_term JOIN agent USING (aid) WHERE aid > $1 AND term = $3 ORDER BY aid LIMIT $2',
  termsOf: 'SELECT term FROM card_term WHERE aid = $1',
  bucket: 'SELECT h, box FROM directory WHERE h >= $1 AND h <= $2 ORDER BY h LIMIT $3',
  bucketAfter: 'SELECT h, box FROM directory WHERE h > $1 AND h <= $2 ORDER BY h LIMIT $3',
  bucketOfPeers:
    "SELECT h, box FROM directory JOIN agent ON agent.number = directory.agent WHERE h >= $1 AND h <= $2 AND visibility <> 'hub-local' ORDER BY h LIMIT $3",
  bucketOfPeersAfter:
    "SELECT h, box FROM directory JOIN agent ON agent.number = directory.agent WHERE h > $1 AND h <= $2 AND visibility <> 'hub-local' ORDER BY h LIMIT $3",
  registered: "SELECT count(*) AS n FROM agent WHERE registered AND mail <> 'open'",
  online: 'SELECT count(*) AS n FROM agent WHERE registered AND seen_hour_ms >= $1',
} as const

type Held = { number: number; version: number; registered: boolean; visibility: string; same_keys: boolean }

export const putAgent: Write<PutAgent, PutAgentResult> = {
  locks: ({ row }) => ({ aids: [row.aid] }),
  async make(db, change) {
    const { row, entry, terms } = change
    const held = await db.one<Held>(agentQueries.held, row.aid, row.kel, row.keys ?? null)
    if ((held?.version ?? 0) !== row.version) return { outcome: 'conflict' }
    const barred = await barredFrom(db, change)
    if (barred !== undefined) return { outcome: barred }
    const version = row.version + 1
    const number = held === undefined ? await insert(db, row, version) : held.number
    if (held !== undefined) await update(db, row, number, version)
    if (row.mail !== 'open' || !row.registered) await keepAway(db, number)
    if (change.archiving !== undefined) await markArchived(db, row.aid, change.archiving)
    await db.run('DELETE FROM directory WHERE agent = $1', number)
    if (entry !== undefined)
      await db.run('INSERT INTO directory (h, agent, box) VALUES ($1, $2, $3)', entry.h, number, entry.box)
    await index(db, row, terms)
    const before = { registered: held?.registered === true, visibility: held?.visibility ?? '' }
    await retellReviews(db, row.aid, { before, now: row })
    const isTold = travels(row) && row.keys !== undefined
    await retellCard(db, row.aid, { isTold, isSame: held?.same_keys === true })
    // one that is set aside keeps its keys, and its mail until it is let in again
    const isKept = row.registered || row.keys !== undefined
    const emptied = isKept ? { dropped: 0, files: [] } : await emptyMailbox(db, number)
    return { outcome: 'stored', number, version, ...emptied }
  },
}

/** Why a row is not written; what a new account takes is taken with it. */
async function barredFrom(db: Queries, { row, archiving, signUp, invite }: PutAgent) {
  if (row.registered && archiving !== 'restored' && (await isArchived(db, row.aid)))
    return 'archived' as const
  const taken = signUp === undefined ? 'taken' : await takeSignUp(db, signUp)
  if (taken !== 'taken') return taken
  const invited = invite === undefined ? 'taken' : await takeInvite(db, invite, row.aid)
  return invited === 'taken' ? undefined : invited
}

/** What finds an agent: the tags of its capabilities, and the terms of its card. */
async function index(
  db: Queries,
  { aid, registered, caps }: AgentRow,
  terms: readonly string[],
): Promise<void> {
  await db.run('DELETE FROM agent_cap WHERE aid = $1', aid)
  await db.run('DELETE FROM card_term WHERE aid = $1', aid)
  if (!registered) return
  const words = 'SELECT DISTINCT word, $1 FROM unnest($2::text[]) AS word'
  await db.run(`INSERT INTO agent_cap (cap, aid) ${words}`, aid, caps)
  await db.run(`INSERT INTO card_term (term, aid) ${words}`, aid, terms)
}

const values = (row: AgentRow, version: number): Value[] => [
  version,
  row.registered,
  row.name,
  JSON.stringify(row.caps),
  row.summary,
  row.readme,
  row.visibility,
  row.kel,
  row.keys ?? null,
  row.keysBefore ?? null,
  row.keysBeforeUntilMs,
  row.registeredDayMs,
  row.probationUntilMs,
  row.card ?? null,
  row.mail,
  row.seenHourMs,
]

async function insert(db: Queries, row: AgentRow, version: number): Promise<number> {
  const inserted = await db.one<{ number: number }>(
    'INSERT INTO agent (version, registered, name, caps, summary, readme, visibility, kel, keys, keys_before,' +
      ' before_until_ms, registered_day_ms, probation_until_ms, card, mail, seen_hour_ms, aid)' +
      ' VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17) RETURNING number',
    ...values(row, version),
    row.aid,
  )
  if (inserted === undefined) throw new Error('a new agent row has no number')
  await addMailbox(db, inserted.number)
  return inserted.number
}

async function update(db: Queries, row: AgentRow, number: number, version: number): Promise<void> {
  await db.run(
    'UPDATE agent SET version = $1, registered = $2, name = $3, caps = $4, summary = $5, readme = $6,' +
      ' visibility = $7, kel = $8, keys = $9, keys_before = $10, before_until_ms = $11, registered_day_ms = $12,' +
      ' probation_until_ms = $13, card = $14, mail = $15, seen_hour_ms = greatest(seen_hour_ms, $16) WHERE number = $17',
    ...values(row, version),
    number,
  )
}

export const markSeen: Write<{ number: number; hourMs: number }, void> = {
  locks: ({ number }) => ({ mailboxes: [number] }),
  async make(db, { number, hourMs }) {
    await db.run('UPDATE agent SET seen_hour_ms = $1 WHERE number = $2 AND seen_hour_ms < $1', hourMs, number)
  },
}

export const keepForkProof: Write<ForkProof, void> = {
  locks: () => ({}),
  async make(db, { aid, seq, held, submitted, seenMs }) {
    await db.run(
      'INSERT INTO fork_proof (aid, seq, held, submitted, seen_ms) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING',
      ...[aid, seq, held, submitted, seenMs],
    )
  },
}

async function bucket(
  reader: Queries,
  { first, last, afterH, onlyFederated, limit, bytesMax }: BucketQuery,
): Promise<{ entries: DirectoryEntry[]; more: boolean }> {
  const { bucketOfPeers, bucketOfPeersAfter, bucket: whole, bucketAfter } = agentQueries
  const sql =
    afterH === undefined
      ? onlyFederated
        ? bucketOfPeers
        : whole
      : onlyFederated
        ? bucketOfPeersAfter
        : bucketAfter
  const rows = await reader.all<DirectoryEntry>(sql, afterH ?? first, last, limit + 1)
  let bytes = 0
  const over = rows.findIndex(({ box }, index) => {
    bytes += box.length
    return index > 0 && (index === limit || bytes > bytesMax)
  })
  return over < 0 ? { entries: rows, more: false } : { entries: rows.slice(0, over), more: true }
}

/** Read some rows at a time, until the page is full or as much was read as one answer may cost. */
async function list(reader: Queries, query: ListQuery): Promise<ListedAgents> {
  const isAsked = askedIn(query)
  const rows: AgentRow[] = []
  let bytes = 0
  let read = 0
  let last: string | undefined
  for await (const row of candidates(reader, query)) {
    const size = row.kel.length + row.readme.length + row.summary.length + (row.card?.length ?? 0)
    const full = rows.length === query.limit || read === query.rowsMax || bytes + size > query.bytesMax
    if (full && last !== undefined) return { rows, next: last }
    bytes += size
    read += 1
    last = row.aid
    if (isAsked(row) && (await hasTerms(reader, row, query))) rows.push(row)
  }
  return { rows, next: undefined }
}

/** The rows among which those asked for stand, in AID order: by an index where one names them. */
async function* candidates(reader: Queries, query: ListQuery): AsyncGenerator<AgentRow> {
  const [sql, ...words] = indexFor(query)
  for (let afterAid: string | undefined = query.afterAid; afterAid !== undefined; ) {
    const rows: StoredAgent[] = await reader.all<StoredAgent>(sql, afterAid, PAGE_ROWS, ...words)
    for (const row of rows) yield agentOf(row)
    afterAid = rows.length < PAGE_ROWS ? undefined : rows.at(-1)?.aid
  }
}

function indexFor({ caps = [], terms = [], open, onlyPublic }: ListQuery): [sql: string, ...words: string[]] {
  const [cap, ...otherCaps] = caps
  if (cap !== undefined && otherCaps.length === 0 && !cap.endsWith('*')) return [agentQueries.capExact, cap]
  if (terms[0] !== undefined) return [agentQueries.cardTerm, terms[0]]
  if (open === true) return [agentQueries.listedOpen]
  return [onlyPublic === true ? agentQueries.listedPublic : agentQueries.listed]
}

async function hasTerms(reader: Queries, { aid }: AgentRow, { terms = [] }: ListQuery): Promise<boolean> {
  if (terms.length === 0) return true
  const own = new Set((await reader.all<{ term: string }>(agentQueries.termsOf, aid)).map(({ term }) => term))
  return terms.every(term => own.has(term))
}

/** Each in an object of its own, also where several ask for one agent. */
function findAgents(reader: Queries): Store['findAgent'] {
  const together = new Together<StoredAgent>(async aids => {
    const rows = await reader.all<StoredAgent>(agentQueries.agents, aids)
    return new Map(rows.map(row => [row.aid, row]))
  })
  return async aid => {
    const stored = await together.find(aid)
    return stored && agentOf(stored)
  }
}

type Agents = Pick<
  Store,
  | 'findAgent'
  | 'putAgent'
  | 'signUps'
  | 'isProofUsed'
  | 'markSeen'
  | 'listAgents'
  | 'bucket'
  | 'keepForkProof'
>

export const agentsOver = (reader: Queries, writer: Writer): Agents => ({
  findAgent: findAgents(reader),
  putAgent: change => writer.write('putAgent', change),
  signUps: of => signUpsOf(reader, of),
  isProofUsed: async proof => (await reader.one(signUpQueries.used, proof)) !== undefined,
  markSeen: (number, hourMs) => writer.write('markSeen', { number, hourMs }),
  listAgents: query => list(reader, query),
  bucket: query => bucket(reader, query),
  keepForkProof: proof => writer.write('keepForkProof', proof),
})
