/** Orders for task boards that left, until the hub has said what came of each. */
import { integer, json, type RowOf, text } from './columns.ts'
import type { Store } from './open.ts'

/** More without an answer are not kept; the oldest goes. */
const ROWS_MAX = 64

export const boardOrdersTable = {
  name: 'board_orders',
  columns: {
    key: integer,
    hub: text,
    /** What was ordered, as one text. */
    name: text,
    /** As it was signed. */
    request: json<Record<string, unknown>>(),
    /** Seq of the key event under which it was signed. */
    kelSeq: integer,
    at: integer,
  },
} as const
export type BoardOrderRow = RowOf<typeof boardOrdersTable>

type Ordered = Pick<BoardOrderRow, 'hub' | 'name'>

/** The orders of these words that were kept since a time, the oldest first. */
export const boardOrders = (store: Store, { hub, name }: Ordered, since: number): BoardOrderRow[] =>
  store.rows(
    'SELECT * FROM board_orders WHERE hub = ? AND name = ? AND at > ? ORDER BY key',
    hub,
    name,
    since,
  )

/** Keeps an order and gives its key. */
export function keepBoardOrder(store: Store, order: Omit<BoardOrderRow, 'key'>): number {
  const { hub, name, request, kelSeq, at } = order
  return store.transaction(() => {
    const { key } = store.run(
      'INSERT INTO board_orders (hub, name, request, kel_seq, at) VALUES (?, ?, ?, ?, ?)',
      hub,
      name,
      request,
      kelSeq,
      at,
    )
    store.run(
      'DELETE FROM board_orders WHERE key NOT IN (SELECT key FROM board_orders ORDER BY key DESC LIMIT ?)',
      ROWS_MAX,
    )
    return key
  })
}

export function dropBoardOrder(store: Store, key: number): void {
  store.run('DELETE FROM board_orders WHERE key = ?', key)
}
