/** Tasks that a restored node no longer has, as its correspondents name them. */
import { blob, flag, integer, oneOf, orNull, type RowOf, text } from './columns.ts'
import type { Store } from './open.ts'

export const lostTasksTable = {
  name: 'lost_tasks',
  columns: {
    id: text,
    peer: text,
    at: integer,
    /** The peer knows that it is lost here. */
    told: flag,
    /** Whether this node had delegated it; null: the peer has not said. */
    side: orNull(oneOf<'sent' | 'received'>(text)),
    /** When the peer got it. */
    delegatedAt: orNull(integer),
    /** Id of what this node had signed for it, as the peer says. */
    payment: orNull(blob),
  },
} as const
export type LostTask = RowOf<typeof lostTasksTable>

const KEPT_MAX = 1000

/** Keeps a task that is lost, unless too many are; what is said of one that is known is added to it. */
export function noteLost(store: Store, lost: Omit<LostTask, 'told'>): void {
  const { id, peer, at, side, delegatedAt, payment } = lost
  store.run(
    `INSERT INTO lost_tasks (id, peer, at, side, delegated_at, payment)
     SELECT ?, ?, ?, ?, ?, ?
     WHERE (SELECT count(*) FROM lost_tasks) < ? OR EXISTS (SELECT 1 FROM lost_tasks WHERE id = ?)
     ON CONFLICT (id) DO UPDATE SET side = coalesce(side, excluded.side),
       delegated_at = coalesce(delegated_at, excluded.delegated_at), payment = coalesce(payment, excluded.payment)
     WHERE peer = excluded.peer`,
    id,
    peer,
    at,
    side,
    delegatedAt,
    payment,
    KEPT_MAX,
    id,
  )
}

/** Of a peer, what it was not told of; it counts as told. */
export function takeUntold(store: Store, peer: string, max: number): string[] {
  const rows = store.all<{ id: string }>(
    'SELECT id FROM lost_tasks WHERE peer = ? AND told = 0 LIMIT ?',
    peer,
    max,
  )
  for (const { id } of rows) store.run('UPDATE lost_tasks SET told = 1 WHERE id = ?', id)
  return rows.map(({ id }) => id)
}

/** What is lost, the newest first. */
export function lostTasks(store: Store): LostTask[] {
  return store.rows('SELECT * FROM lost_tasks ORDER BY at DESC, id')
}

/** It came after all. */
export function dropLost(store: Store, id: string): void {
  store.run('DELETE FROM lost_tasks WHERE id = ?', id)
}
