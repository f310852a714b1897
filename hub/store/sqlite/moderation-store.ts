/** What an operator set aside, vouches for and did, in the database. Changes run inside a transaction. */
import type {
  ArchivedAgent,
  Archiving,
  ModerationStore,
  OfficialAgent,
  OperatorAct,
} from '../moderation-port.ts'
import type { Database } from './database.ts'
import type { WriterClient } from './writer-client.ts'

export const moderationQueries = {
  archived: 'SELECT at_ms, reason FROM archived WHERE aid = ?',
  archivedAgents:
    'SELECT n, archived.aid AS aid, name, number, at_ms, reason FROM archived JOIN agent ON agent.aid = archived.aid' +
    ' WHERE n < ? ORDER BY n DESC LIMIT ?',
  official: 'SELECT * FROM official WHERE aid = ?',
  officials: 'SELECT * FROM official ORDER BY place, aid',
  acts: 'SELECT n, at_ms, who, action, subject, detail FROM operator_act WHERE n < ? ORDER BY n DESC LIMIT ?',
  caps:
    "SELECT cap, count(*) AS agents FROM agent_cap JOIN agent ON agent.aid = agent_cap.aid AND mail = 'open'" +
    ' WHERE cap > ? GROUP BY cap ORDER BY cap LIMIT ?',
  ratings:
    'SELECT fed_seq, rating, review FROM open_review WHERE provider = ? AND fed_seq > ? ORDER BY fed_seq LIMIT ?',
} as const

/** Marks an agent, or takes the mark away; with the write of its row. */
export function markArchived(db: Database, aid: string, change: Archiving): void {
  if (change === 'restored') db.run('DELETE FROM archived WHERE aid = ?', aid)
  else
    db.run(
      'INSERT OR IGNORE INTO archived (aid, at_ms, reason) VALUES (?, ?, ?)',
      ...[aid, change.atMs, change.reason],
    )
}

export const isArchived = (db: Database, aid: string): boolean =>
  db.one(moderationQueries.archived, aid) !== undefined

export function putOfficial(db: Database, { max, ...given }: OfficialAgent & { max: number }): boolean {
  const others = db.one<{ n: number }>('SELECT count(*) AS n FROM official WHERE aid <> ?', given.aid)?.n ?? 0
  if (others >= max) return false
  db.run(
    'INSERT INTO official (aid, place, badge, added_ms, senders, visitors) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (aid)' +
      ' DO UPDATE SET place = excluded.place, badge = excluded.badge, senders = excluded.senders,' +
      ' visitors = excluded.visitors',
    given.aid,
    given.place,
    given.badge,
    given.addedMs,
    given.senders === undefined ? null : JSON.stringify(given.senders),
    given.visitors ? 1 : 0,
  )
  return true
}

export const removeOfficial = (db: Database, { aid }: { aid: string }): boolean =>
  db.run('DELETE FROM official WHERE aid = ?', aid) > 0

export function noteAct(db: Database, { max, ...act }: OperatorAct & { max: number }): true {
  const noted = db.one<{ n: number }>(
    'INSERT INTO operator_act (at_ms, who, action, subject, detail) VALUES (?, ?, ?, ?, ?) RETURNING n',
    ...[act.atMs, act.who, act.action, act.subject, act.detail],
  )
  db.run('DELETE FROM operator_act WHERE n <= ?', (noted?.n ?? 0) - max)
  return true
}

type StoredOfficial = {
  aid: string
  place: number
  badge: string
  added_ms: number
  senders: string | null
  visitors: number
}

const officialOf = (row: StoredOfficial): OfficialAgent => ({
  aid: row.aid,
  place: row.place,
  badge: row.badge,
  addedMs: row.added_ms,
  senders: row.senders === null ? undefined : (JSON.parse(row.senders) as string[]),
  visitors: row.visitors === 1,
})

type StoredArchived = Omit<ArchivedAgent, 'atMs'> & { at_ms: number }
type StoredAct = Omit<OperatorAct, 'atMs'> & { n: number; at_ms: number }
type StoredRating = { fed_seq: number; rating: number; review: Uint8Array }

const timed = <R extends { at_ms: number }>({ at_ms: atMs, ...row }: R) => ({ ...row, atMs })

export function moderationOver(reader: Database, writer: WriterClient): ModerationStore {
  return {
    async archived(aid) {
      const row = reader.one<{ at_ms: number; reason: string }>(moderationQueries.archived, aid)
      return row && timed(row)
    },
    archivedAgents: async ({ before = Number.MAX_SAFE_INTEGER, limit }) =>
      reader.all<StoredArchived>(moderationQueries.archivedAgents, before, limit).map(timed),
    archivedCount: async () => reader.one<{ n: number }>('SELECT count(*) AS n FROM archived')?.n ?? 0,
    putOfficial: given => writer.write('putOfficial', given),
    removeOfficial: aid => writer.write('removeOfficial', { aid }),
    async official(aid) {
      const row = reader.one<StoredOfficial>(moderationQueries.official, aid)
      return row && officialOf(row)
    },
    officials: async () => reader.all<StoredOfficial>(moderationQueries.officials).map(officialOf),
    async noteAct(given) {
      await writer.write('noteAct', given)
    },
    acts: async ({ before = Number.MAX_SAFE_INTEGER, limit }) =>
      reader.all<StoredAct>(moderationQueries.acts, before, limit).map(timed),
    openCaps: async ({ after, limit }) => reader.all(moderationQueries.caps, after, limit),
    openRatings: async ({ provider, after, limit }) =>
      reader
        .all<StoredRating>(moderationQueries.ratings, provider, after, limit)
        .map(({ fed_seq: fedSeq, ...row }) => ({ ...row, fedSeq })),
    openWaiting: async () => {
      const sum = reader.one<{ mailboxes: number; messages: number }>(
        'SELECT count(*) AS mailboxes, coalesce(sum(messages), 0) AS messages FROM open_mailbox',
      )
      const bytes = reader.one<{ bytes: number }>('SELECT bytes FROM open_totals WHERE one = 1')?.bytes ?? 0
      return { mailboxes: 0, messages: 0, ...sum, bytes }
    },
  }
}
