/** Ratings that wait for the receipt of their task, with which they become reviews. */
import { integer, type RowOf, text } from './columns.ts'
import type { Store } from './open.ts'

export const ratingsTable = {
  name: 'ratings',
  columns: { interaction: integer, rating: integer, comment: text },
} as const
export type RatingRow = RowOf<typeof ratingsTable>

export function ratingOf(store: Store, interaction: number): RatingRow | undefined {
  return store.row('SELECT * FROM ratings WHERE interaction = ?', interaction)
}

/** Keeps a rating in place of an earlier one. */
export function keepRatingRow(store: Store, { interaction, rating, comment }: RatingRow): void {
  store.run(
    `INSERT INTO ratings (interaction, rating, comment) VALUES (?, ?, ?)
     ON CONFLICT (interaction) DO UPDATE SET rating = excluded.rating, comment = excluded.comment`,
    interaction,
    rating,
    comment,
  )
}

export function dropRating(store: Store, interaction: number): void {
  store.run('DELETE FROM ratings WHERE interaction = ?', interaction)
}
