/** Agents whose keys a hub shows in two ways, each with the proof of it. */
import { blob, oneOf, type RowOf, text } from './columns.ts'
import type { Store } from './open.ts'

export const contradictionsTable = {
  name: 'contradictions',
  columns: { kind: oneOf<'fork' | 'cut' | 'notice'>(text), aid: text, proof: blob },
} as const
type Kind = RowOf<typeof contradictionsTable>['kind']

/** AIDs of whom there is a proof. */
export const contradicted = (store: Store, kind: Kind): string[] =>
  store
    .all<{ aid: string }>('SELECT aid FROM contradictions WHERE kind = ? ORDER BY aid', kind)
    .map(({ aid }) => aid)

/** Keeps a proof, in the place of one that was kept before. */
export function keepContradiction(store: Store, kind: Kind, aid: string, proof: Uint8Array): void {
  store.run('INSERT OR REPLACE INTO contradictions VALUES (?, ?, ?)', kind, aid, proof)
}

/** What is shown now contradicts nothing. */
export function dropContradiction(store: Store, kind: Kind, aid: string): void {
  const isKept = store.get('SELECT 1 FROM contradictions WHERE kind = ? AND aid = ?', kind, aid) !== undefined
  if (isKept) store.run('DELETE FROM contradictions WHERE kind = ? AND aid = ?', kind, aid)
}
