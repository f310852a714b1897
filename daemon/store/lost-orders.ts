/** What a copy of this node that is lost signed, as hubs have shown it. */
import { blob, integer, orNull, type RowOf, text } from './columns.ts'
import type { Store } from './open.ts'

export const lostOrdersTable = {
  name: 'lost_orders',
  columns: {
    /** Of its payment, in letters. */
    id: text,
    /** Of its entry. */
    seq: integer,
    at: integer,
    reason: text,
    counterparty: orNull(text),
    authorization: blob,
    /** What its payee took of the hold, once the hub has signed how that ended. */
    moved: orNull(integer),
  },
} as const
export type LostOrderRow = RowOf<typeof lostOrdersTable>

/** What is known of one order. */
export const lostOrderRow = (store: Store, id: string): LostOrderRow | undefined =>
  store.get('SELECT * FROM lost_orders WHERE id = ?', id)

/** All that are known, by their ids. */
export const lostOrderRows = (store: Store): LostOrderRow[] =>
  store.all('SELECT * FROM lost_orders ORDER BY id')

/** Keeps an order that a hub shows. */
export function keepLostOrder(store: Store, row: Omit<LostOrderRow, 'moved'>): void {
  const { id, seq, at, reason, counterparty, authorization } = row
  store.run(
    'INSERT OR REPLACE INTO lost_orders VALUES (?, ?, ?, ?, ?, ?, NULL)',
    id,
    seq,
    at,
    reason,
    counterparty,
    authorization,
  )
}

/** Its hub has signed how the hold has ended. */
export function noteLostOrderEnd(store: Store, id: string, moved: number): void {
  store.run('UPDATE lost_orders SET moved = ? WHERE id = ?', moved, id)
}
