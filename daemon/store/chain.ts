/** Records of the evidence chain, and which of them are in the chain file. */
import { blob, flag, integer, type RowOf, text } from './columns.ts'
import type { Store } from './open.ts'

export const chainTable = {
  name: 'chain',
  columns: { seq: integer, id: blob, type: text, record: blob, drained: flag },
} as const
export type ChainRow = RowOf<typeof chainTable>

export function appendRow(store: Store, { seq, id, type, record }: Omit<ChainRow, 'drained'>): void {
  store.run('INSERT INTO chain (seq, id, type, record) VALUES (?, ?, ?, ?)', seq, id, type, record)
}

/** Records that the file lacks, the oldest first. */
export function undrained(store: Store, max: number): Pick<ChainRow, 'seq' | 'record'>[] {
  return store.all('SELECT seq, record FROM chain WHERE drained = 0 ORDER BY seq LIMIT ?', max)
}

/** How many records the file held, durably, when that was last noted. */
export function chainInFile(store: Store): number {
  const [first] = undrained(store, 1)
  if (first !== undefined) return first.seq
  return (store.get<{ seq: number | null }>('SELECT max(seq) AS seq FROM chain')?.seq ?? -1) + 1
}

/** The file holds every record up to this one. */
export function markDrained(store: Store, upTo: number): void {
  store.run('UPDATE chain SET drained = 1 WHERE drained = 0 AND seq <= ?', upTo)
}

/** The file holds exactly this many records. */
export function markInFile(store: Store, count: number): void {
  store.run('UPDATE chain SET drained = 0 WHERE seq >= ? AND drained = 1', count)
  store.run('UPDATE chain SET drained = 1 WHERE seq < ? AND drained = 0', count)
}
