/** What an operator set aside, vouches for and did, in PostgreSQL. */
import type {
  ArchivedAgent,
  Archiving,
  ModerationStore,
  OfficialAgent,
  OperatorAct,
} from '../moderation-port.ts'
import type { Queries } from './connections.ts'
import type { Write } from './groups.ts'
import type { Writer } from './writes.ts'

export const moderationQueries = {
  archived: 'SELECT at_ms, reason FROM archived WHERE aid = $1',
  archivedAgents:
    'SELECT n, archived.aid AS aid, name, number, at_ms, reason FROM archived JOIN agent ON agent.aid = archived.aid' +
    ' WHERE n < $1 ORDER BY n DESC LIMIT $2',
  archivedCount: 'SELECT count(*) AS n FROM archived',
  official: 'SELECT * FROM official WHERE aid = $1',
  officials: 'SELECT * FROM official ORDER BY place, aid',
  acts: 'SELECT n, at_ms, who, action, subject, detail FROM operator_act WHERE n < $1 ORDER BY n DESC LIMIT $2',
  caps:
    "SELECT cap, count(*) AS agents FROM agent_cap JOIN agent ON agent.aid = agent_cap.aid AND mail = 'open'" +
    ' WHERE cap > $1 GROUP BY cap ORDER BY cap LIMIT $2',
  ratings:
    'SELECT fed_seq AS "fedSeq", rating, review FROM open_review WHERE provider = $1 AND fed_seq > $2' +
    ' ORDER BY fed_seq LIMIT $3',
  waiting:
    'SELECT count(*) AS mailboxes, coalesce(sum(messages), 0)::bigint AS messages,' +
    ' coalesce((SELECT bytes FROM open_totals WHERE one = 1), 0) AS bytes FROM open_mailbox',
} as const

/** Marks an agent, or takes the mark away; with the write of its row. */
export async function markArchived(db: Queries, aid: string, change: Archiving): Promise<void> {
  if (change === 'restored') await db.run('DELETE FROM archived WHERE aid = $1', aid)
  else
    await db.run(
      'INSERT INTO archived (aid, at_ms, reason) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
      ...[aid, change.atMs, change.reason],
    )
}

export const isArchived = async (db: Queries, aid: string): Promise<boolean> =>
  (await db.one(moderationQueries.archived, aid)) !== undefined

export const putOfficial: Write<OfficialAgent & { max: number }, boolean> = {
  locks: () => ({ subjects: ['officials'] }),
  async make(db, { max, ...given }) {
    const others = await db.one<{ n: number }>(
      'SELECT count(*) AS n FROM official WHERE aid <> $1',
      given.aid,
    )
    if ((others?.n ?? 0) >= max) return false
    await db.run(
      'INSERT INTO official (aid, place, badge, added_ms, senders, visitors) VALUES ($1, $2, $3, $4, $5, $6)' +
        ' ON CONFLICT (aid) DO UPDATE SET place = excluded.place, badge = excluded.badge,' +
        ' senders = excluded.senders, visitors = excluded.visitors',
      ...[given.aid, given.place, given.badge, given.addedMs],
      given.senders === undefined ? null : JSON.stringify(given.senders),
      given.visitors,
    )
    return true
  },
}

export const removeOfficial: Write<{ aid: string }, boolean> = {
  locks: () => ({}),
  make: async (db, { aid }) => (await db.run('DELETE FROM official WHERE aid = $1', aid)) > 0,
}

export const noteAct: Write<OperatorAct & { max: number }, void> = {
  locks: () => ({ subjects: ['operator acts'] }),
  async make(db, { max, atMs, who, action, subject, detail }) {
    await db.run(
      'INSERT INTO operator_act (at_ms, who, action, subject, detail) VALUES ($1, $2, $3, $4, $5)',
      ...[atMs, who, action, subject, detail],
    )
    // numbers of acts that failed are given to none
    await db.run(
      'DELETE FROM operator_act WHERE n <= (SELECT n FROM operator_act ORDER BY n DESC OFFSET $1 LIMIT 1)',
      max,
    )
  },
}

type StoredOfficial = {
  aid: string
  place: number
  badge: string
  added_ms: number
  senders: string | null
  visitors: boolean
}

const officialOf = (row: StoredOfficial): OfficialAgent => ({
  aid: row.aid,
  place: row.place,
  badge: row.badge,
  addedMs: row.added_ms,
  senders: row.senders === null ? undefined : (JSON.parse(row.senders) as string[]),
  visitors: row.visitors,
})

type StoredArchived = Omit<ArchivedAgent, 'atMs'> & { at_ms: number }
type StoredAct = Omit<OperatorAct, 'atMs'> & { n: number; at_ms: number }

const timed = <R extends { at_ms: number }>({ at_ms: atMs, ...row }: R) => ({ ...row, atMs })

export const moderationOver = (reader: Queries, writer: Writer): ModerationStore => ({
  async archived(aid) {
    const row = await reader.one<{ at_ms: number; reason: string }>(moderationQueries.archived, aid)
    return row && timed(row)
  },
  archivedAgents: async ({ before = Number.MAX_SAFE_INTEGER, limit }) =>
    (await reader.all<StoredArchived>(moderationQueries.archivedAgents, before, limit)).map(timed),
  archivedCount: async () => (await reader.one<{ n: number }>(moderationQueries.archivedCount))?.n ?? 0,
  putOfficial: given => writer.write('putOfficial', given),
  removeOfficial: aid => writer.write('removeOfficial', { aid }),
  async official(aid) {
    const row = await reader.one<StoredOfficial>(moderationQueries.official, aid)
    return row && officialOf(row)
  },
  officials: async () => (await reader.all<StoredOfficial>(moderationQueries.officials)).map(officialOf),
  noteAct: given => writer.write('noteAct', given),
  acts: async ({ before = Number.MAX_SAFE_INTEGER, limit }) =>
    (await reader.all<StoredAct>(moderationQueries.acts, before, limit)).map(timed),
  openCaps: ({ after, limit }) => reader.all(moderationQueries.caps, after, limit),
  openRatings: ({ provider, after, limit }) => reader.all(moderationQueries.ratings, provider, after, limit),
  openWaiting: async () =>
    (await reader.one<{ mailboxes: number; messages: number; bytes: number }>(moderationQueries.waiting)) ?? {
      ...{ mailboxes: 0, messages: 0, bytes: 0 },
    },
})
