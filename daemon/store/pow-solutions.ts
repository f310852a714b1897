/** Proof of work that was found, until its hub took it or its time is over. */
import { blob, integer, type RowOf, text } from './columns.ts'
import type { Store } from './open.ts'

export const powSolutionsTable = {
  name: 'pow_solutions',
  columns: { hub: text, seed: blob, nonce: blob, notAfter: integer },
} as const
type Solution = Omit<RowOf<typeof powSolutionsTable>, 'hub'>

export const solutionFor = (store: Store, hub: string): Solution | undefined =>
  store.get<Solution>('SELECT seed, nonce, not_after AS notAfter FROM pow_solutions WHERE hub = ?', hub)

/** Keeps it in the place of an earlier one. */
export function keepSolution(store: Store, hub: string, { seed, nonce, notAfter }: Solution): void {
  store.run('INSERT OR REPLACE INTO pow_solutions VALUES (?, ?, ?, ?)', hub, seed, nonce, notAfter)
}

export function dropSolution(store: Store, hub: string): void {
  store.run('DELETE FROM pow_solutions WHERE hub = ?', hub)
}
