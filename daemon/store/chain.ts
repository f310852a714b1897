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

/** How many records the store holds. */
export const chainLength = (store: Store): number =>
  store.get<{ n: number }>('SELECT coalesce(max(seq) + 1, 0) AS n FROM chain')?.n ?? 0

/** The last record: the length that it makes, and its id. */
export const lastRecord = (store: Store): { length: number; id: Uint8Array } | undefined =>
  store.get('SELECT seq + 1 AS length, id FROM chain ORDER BY seq DESC LIMIT 1')

/** The id of the record of this number. */
export const recordIdAt = (store: Store, seq: number): Uint8Array | undefined =>
  store.get<{ id: Uint8Array }>('SELECT id FROM chain WHERE seq = ?', seq)?.id

/** The record of this number. */
export const recordAt = (store: Store, seq: number): Pick<ChainRow, 'id' | 'record'> | undefined =>
  store.get('SELECT id, record FROM chain WHERE seq = ?', seq)

/** Ids of records from a number on, in order. */
export const recordIds = (store: Store, from: number, max: number): Uint8Array[] =>
  store
    .all<{ id: Uint8Array }>('SELECT id FROM chain WHERE seq >= ? ORDER BY seq LIMIT ?', from, max)
    .map(({ id }) => id)

/** Whether there is a record of this type. */
export const hasRecordOf = (store: Store, type: string): boolean =>
  store.get('SELECT 1 FROM chain WHERE type = ? LIMIT 1', type) !== undefined

/** Which records are asked for. */
export type RecordFilter = {
  since: number
  before: number
  type: string | undefined
  /** Bytes that stand in the record. */
  holding: Uint8Array | undefined
}

/** The newest of these records, the newest first. */
export function newestRecords(
  store: Store,
  { since, before, type, holding }: RecordFilter,
  max: number,
): Pick<ChainRow, 'seq' | 'id' | 'record'>[] {
  const conditions = ['seq >= ?', 'seq < ?']
  const parameters: (string | number | Uint8Array)[] = [since, before]
  if (type !== undefined) {
    conditions.push('type = ?')
    parameters.push(type)
  }
  if (holding !== undefined) {
    conditions.push('instr(record, ?) > 0')
    parameters.push(holding)
  }
  return store.all(
    `SELECT seq, id, record FROM chain WHERE ${conditions.join(' AND ')} ORDER BY seq DESC LIMIT ?`,
    ...parameters,
    max,
  )
}

/** The newest record of this type in which these bytes stand. */
export const newestHolding = (
  store: Store,
  type: string,
  holding: Uint8Array,
): Pick<ChainRow, 'seq' | 'record'> | undefined =>
  store.get(
    'SELECT seq, record FROM chain WHERE type = ? AND instr(record, ?) > 0 ORDER BY seq DESC LIMIT 1',
    type,
    holding,
  )

/** The record that first named the receipt of a task; of earlier releases, which did not note it, undefined. */
export const receiptRecord = (
  store: Store,
  interaction: number,
): Pick<ChainRow, 'seq' | 'record'> | undefined =>
  store.get(
    'SELECT c.seq, c.record FROM interactions AS i JOIN chain AS c ON c.seq = i.receipt_seq WHERE i.key = ?',
    interaction,
  )
