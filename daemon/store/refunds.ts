/** Refunds that a hub has moved, by their own id: each counts once. */
import { blob, integer, type RowOf } from './columns.ts'
import type { Store } from './open.ts'

export const refundsTable = { name: 'refunds', columns: { id: blob, amount: integer } } as const
type Refund = RowOf<typeof refundsTable>

/** Whether what became of a refund stands here. */
export const isRefundNoted = (store: Store, id: Uint8Array): boolean =>
  store.get('SELECT 1 FROM refunds WHERE id = ?', id) !== undefined

/** A hub has moved it. */
export function noteRefund(store: Store, { id, amount }: Refund): void {
  store.run('INSERT OR REPLACE INTO refunds VALUES (?, ?)', id, amount)
}
