/** Small values that must survive a restart, by name: marks of what is still to be done, a checkpoint, a solution. */
import { blob, type RowOf, text } from './columns.ts'
import type { Store } from './open.ts'

export const memoryTable = { name: 'memory', columns: { name: text, value: blob } } as const
type Remembered = RowOf<typeof memoryTable>

export function remember(store: Store, name: string, value: Uint8Array): void {
  store.run('INSERT OR REPLACE INTO memory VALUES (?, ?)', name, value)
}

export function recall(store: Store, name: string): Uint8Array | undefined {
  return store.get<Pick<Remembered, 'value'>>('SELECT value FROM memory WHERE name = ?', name)?.value
}

export function namesStarting(store: Store, prefix: string): string[] {
  return store
    .all<Pick<Remembered, 'name'>>(
      'SELECT name FROM memory WHERE substr(name, 1, ?) = ? ORDER BY name',
      prefix.length,
      prefix,
    )
    .map(({ name }) => name)
}

export function forget(store: Store, name: string): void {
  store.run('DELETE FROM memory WHERE name = ?', name)
}
