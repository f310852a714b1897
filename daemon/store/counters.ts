/** Counts of what is worth showing in the status, such as refused messages. */
import { integer, type RowOf, text } from './columns.ts'
import type { Store } from './open.ts'

export const countersTable = { name: 'counters', columns: { name: text, value: integer } } as const
type Counter = RowOf<typeof countersTable>

export function count(store: Store, name: string, by = 1): void {
  store.run(
    'INSERT INTO counters VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = value + excluded.value',
    name,
    by,
  )
}

export function counted(store: Store, name: string): number {
  return store.get<Pick<Counter, 'value'>>('SELECT value FROM counters WHERE name = ?', name)?.value ?? 0
}

/** Sets what stands for the newest of something; undefined takes it out. */
export function note(store: Store, name: string, value: number | undefined): void {
  store.run('DELETE FROM counters WHERE name = ?', name)
  if (value !== undefined) count(store, name, value)
}
