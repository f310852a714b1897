/** Redemptions of which the hub has not proven that it carried them out, by amount and reference. */
import { blob, flag, integer, type RowOf, text } from './columns.ts'
import type { Store } from './open.ts'

export const redemptionsTable = {
  name: 'redemptions',
  columns: { amount: integer, reference: text, authorization: blob, refused: flag },
} as const
type Redemption = RowOf<typeof redemptionsTable>
type Asked = Pick<Redemption, 'amount' | 'reference'>

/** What was signed for it; undefined where nothing was, or it is carried out. */
export const redemptionAsked = (store: Store, { amount, reference }: Asked): Uint8Array | undefined =>
  store.get<Redemption>(
    'SELECT authorization FROM redemptions WHERE amount = ? AND reference = ?',
    amount,
    reference,
  )?.authorization

/** All that are open. */
export const openRedemptions = (store: Store): Redemption[] =>
  store.all('SELECT * FROM redemptions ORDER BY amount, reference')

/** Keeps what is signed for one, in the place of what was. */
export function keepRedemption(
  store: Store,
  { amount, reference, authorization }: Omit<Redemption, 'refused'>,
): void {
  store.run('INSERT OR REPLACE INTO redemptions VALUES (?, ?, ?, 0)', amount, reference, authorization)
}

/** The hub has refused it, and proves by nothing that it leaves it at that. */
export function noteRefusedRedemption(store: Store, { amount, reference }: Asked): void {
  store.run('UPDATE redemptions SET refused = 1 WHERE amount = ? AND reference = ?', amount, reference)
}

/** The hub has proven that it carried it out. */
export function endRedemption(store: Store, { amount, reference }: Asked): void {
  store.run('DELETE FROM redemptions WHERE amount = ? AND reference = ?', amount, reference)
}
