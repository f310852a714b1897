/** Credits on their way from a hub that was left to the account at the home, until that has proven that they arrived. */
import { blob, integer, type RowOf, text } from './columns.ts'
import type { Store } from './open.ts'

export const creditMovesTable = {
  name: 'credit_moves',
  columns: { network: text, amount: integer, authorization: blob },
} as const
export type CreditMove = RowOf<typeof creditMovesTable>

/** The one that is under way from a hub. */
export const moveFrom = (store: Store, network: string): CreditMove | undefined =>
  store.get('SELECT network, amount, authorization FROM credit_moves WHERE network = ?', network)

/** All that are under way. */
export const openMoves = (store: Store): CreditMove[] =>
  store.all('SELECT network, amount, authorization FROM credit_moves ORDER BY network')

/** Keeps what is signed for one, in the place of what was. */
export function keepMove(store: Store, { network, amount, authorization }: CreditMove): void {
  store.run('INSERT OR REPLACE INTO credit_moves VALUES (?, ?, ?)', network, amount, authorization)
}

/** The home has proven that it arrived, or nothing can come of it any more. */
export function endMove(store: Store, network: string): void {
  store.run('DELETE FROM credit_moves WHERE network = ?', network)
}
