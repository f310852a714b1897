/** Cards as engines keep them and as the hub sees them. */
import type { BoardCard, BoardColumn, CardState } from './board-port.ts'

export type StoredCard = {
  n: number
  id: string
  version: number
  title: string
  taskdoc: string
  state: CardState
  place: BoardColumn
  before: BoardColumn | null
  creator: string
  assignee: string | null
  created_ms: number
  updated_ms: number
}

export const cardOf = (row: StoredCard): BoardCard => ({
  id: row.id,
  version: row.version,
  title: row.title,
  taskdoc: row.taskdoc,
  state: row.state,
  column: row.place,
  before: row.before ?? undefined,
  creator: row.creator,
  assignee: row.assignee ?? undefined,
  createdMs: row.created_ms,
  updatedMs: row.updated_ms,
})
