/** Notes of the blackboard. */
import { integer, type RowOf, text } from './columns.ts'
import type { Store } from './open.ts'

export const notesTable = { name: 'notes', columns: { name: text, version: integer, text } } as const
type Note = RowOf<typeof notesTable>

export const allNotes = (store: Store): Note[] => store.all('SELECT name, version, text FROM notes')

/** Writes a note in the place of its earlier version. */
export function keepNote(store: Store, { name, version, text }: Note): void {
  store.run('INSERT OR REPLACE INTO notes VALUES (?, ?, ?)', name, version, text)
}
