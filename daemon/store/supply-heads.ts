/** Heads of a hub's supply chain as its receipts and its audits showed them, past which no audit has read. */
import { blob, integer, type RowOf, text } from './columns.ts'
import type { Store } from './open.ts'

export const supplyHeadsTable = {
  name: 'supply_heads',
  columns: { key: integer, hub: text, seq: integer, id: blob },
} as const
type SupplyHeadRow = RowOf<typeof supplyHeadsTable>
export type SupplyHead = readonly [seq: number, id: Uint8Array]

/** An audit comes every six hours; of more payments than this in between the oldest heads go. */
const HEADS_MAX = 1024

/** Ids by their place. */
export const seenHeads = (store: Store, hub: string): Map<number, Uint8Array> =>
  new Map(
    store
      .all<SupplyHeadRow>('SELECT seq, id FROM supply_heads WHERE hub = ? ORDER BY key', hub)
      .map(({ seq, id }) => [seq, id]),
  )

/** The id that was seen at one place. */
export const headAt = (store: Store, hub: string, seq: number): Uint8Array | undefined =>
  store.get<SupplyHeadRow>('SELECT id FROM supply_heads WHERE hub = ? AND seq = ?', hub, seq)?.id

/** Keeps one of a place at which none was seen. */
export function keepSeenHead(store: Store, hub: string, [seq, id]: SupplyHead): void {
  store.run('INSERT INTO supply_heads (hub, seq, id) VALUES (?, ?, ?)', hub, seq, id)
  store.run(
    `DELETE FROM supply_heads WHERE hub = ?1
       AND key NOT IN (SELECT key FROM supply_heads WHERE hub = ?1 ORDER BY key DESC LIMIT ?2)`,
    hub,
    HEADS_MAX,
  )
}

/** A person goes on with a hub in spite of what was seen. */
export function forgetHeads(store: Store, hub: string): void {
  store.run('DELETE FROM supply_heads WHERE hub = ?', hub)
}

/** An audit found all of them on the chain; what it ended with is what the next one begins to compare. */
export function keepOnlyHead(store: Store, hub: string, head: SupplyHead): void {
  forgetHeads(store, hub)
  keepSeenHead(store, hub, head)
}
