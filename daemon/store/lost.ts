/** Tasks that a restored node no longer has, as its correspondents name them. */
import { flag, integer, type RowOf, text } from './columns.ts'
import type { Store } from './open.ts'

export const lostTasksTable = {
  name: 'lost_tasks',
  columns: {
    id: text,
    peer: text,
    at: integer,
    /** The peer knows that it is lost here. */
    told: flag,
  },
} as const
export type LostTask = RowOf<typeof lostTasksTable>

const KEPT_MAX = 1000

/** Keeps a task that is lost; false when it is known, or when too many are. */
export function noteLost(store: Store, { id, peer, at }: Pick<LostTask, 'id' | 'peer' | 'at'>): boolean {
  const { changes } = store.run(
    `INSERT OR IGNORE INTO lost_tasks (id, peer, at)
     SELECT ?, ?, ? WHERE (SELECT count(*) FROM lost_tasks) < ?`,
    id,
    peer,
    at,
    KEPT_MAX,
  )
  return changes > 0
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
export function lostTasks(store: Store): Pick<LostTask, 'id' | 'peer'>[] {
  return store.all('SELECT id, peer FROM lost_tasks ORDER BY at DESC, id')
}

/** It came after all. */
export function dropLost(store: Store, id: string): void {
  store.run('DELETE FROM lost_tasks WHERE id = ?', id)
}
