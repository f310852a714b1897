/** What strangers have here without anybody's approval: tasks that wait for it, and calls, which are answered without. */
import type { Store } from './open.ts'

/** A contact's task is taken when it comes, a call is not: its caller may be a stranger. */
const UNTAKEN = `side = 'received' AND state IN ('pending', 'open', 'end_proposed') AND
  (state = 'pending' OR capability IS NOT NULL) AND NOT EXISTS (SELECT 1 FROM contacts AS c
    WHERE c.aid = i.peer AND c.petname IS NOT NULL AND c.blocked = 0)`

/** Tasks of an agent that are under way, and those of its calls that began later than `since`. */
export function tasksUnderWay(store: Store, peer: string, since: number): number {
  const row = store.get<{ n: number }>(
    `SELECT count(*) AS n FROM interactions WHERE peer = ? AND side = 'received' AND
       (state IN ('pending', 'open', 'end_proposed') OR
         (capability IS NOT NULL AND started_at > ?))`,
    peer,
    since,
  )
  return row?.n ?? 0
}

/** Tasks of an agent that began later than `since`, whatever became of them. */
export function tasksBegun(store: Store, peer: string, since: number): number {
  const row = store.get<{ n: number }>(
    "SELECT count(*) AS n FROM interactions WHERE peer = ? AND side = 'received' AND started_at > ?",
    peer,
    since,
  )
  return row?.n ?? 0
}

/** Tasks of an agent that began later than `since` and were withdrawn. */
export function tasksWithdrawn(store: Store, peer: string, since: number): number {
  const row = store.get<{ n: number }>(
    `SELECT count(*) AS n FROM interactions WHERE peer = ? AND side = 'received' AND
       capability IS NULL AND state = 'cancelled' AND started_at > ?`,
    peer,
    since,
  )
  return row?.n ?? 0
}

/** Bytes of texts and files that came in such tasks. */
export function bytesBegun(store: Store, peer: string, since: number): number {
  const row = store.get<{ n: number }>(
    `SELECT coalesce(sum(length(m.payload) +
       (SELECT coalesce(sum(size), 0) FROM message_attachments WHERE message = m.key)), 0) AS n
     FROM interactions AS i JOIN messages AS m ON m.interaction = i.key
     WHERE i.peer = ? AND i.side = 'received' AND i.started_at > ? AND m.direction = 'in'`,
    peer,
    since,
  )
  return row?.n ?? 0
}

/** Messages of a stranger in tasks that nobody took. */
export function wordsUntaken(store: Store, peer: string): number {
  const row = store.get<{ n: number }>(
    `SELECT count(*) AS n FROM interactions AS i JOIN messages AS m ON m.interaction = i.key
     WHERE ${UNTAKEN} AND m.direction = 'in' AND i.peer = ?`,
    peer,
  )
  return row?.n ?? 0
}

/** Bytes of texts and files in tasks that nobody took: of one stranger, or of all. */
export function bytesUntaken(store: Store, peer?: string): number {
  const row = store.get<{ n: number }>(
    `SELECT coalesce(sum(length(m.payload) +
       (SELECT coalesce(sum(size), 0) FROM message_attachments WHERE message = m.key)), 0) AS n
     FROM interactions AS i JOIN messages AS m ON m.interaction = i.key
     WHERE ${UNTAKEN} AND m.direction = 'in'${peer === undefined ? '' : ' AND i.peer = ?'}`,
    ...(peer === undefined ? [] : [peer]),
  )
  return row?.n ?? 0
}

/** Texts and files of all tasks that were given to a peer of whom nothing came so far; 0 for any other. */
export function bytesUnanswered(store: Store, peer: string): number {
  const row = store.get<{ n: number }>(
    `SELECT coalesce(sum(length(m.payload) +
       (SELECT coalesce(sum(size), 0) FROM message_attachments WHERE message = m.key)), 0) AS n
     FROM interactions AS i JOIN messages AS m ON m.interaction = i.key
     WHERE i.peer = ?1 AND i.side = 'sent' AND m.direction = 'out' AND NOT EXISTS (
       SELECT 1 FROM interactions AS o JOIN messages AS a ON a.interaction = o.key
       WHERE o.peer = ?1 AND a.direction = 'in')`,
    peer,
  )
  return row?.n ?? 0
}
