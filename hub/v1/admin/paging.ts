/** Pages of lists: how many items, after which one, and where the next page begins. */
import { ADMIN_PAGE_DEFAULT } from '../../../protocol/wire1/routes/admin-shapes.ts'
import { Refusal } from '../../core/refusal.ts'

type Asked = { after?: string | undefined; limit?: number | undefined }
type Page<T> = { items: T[]; next?: string }

export const limitOf = ({ limit = ADMIN_PAGE_DEFAULT }: Asked): number => limit

/** A number as a page gave it in `next`. */
export function numberAfter({ after }: Asked): number | undefined {
  if (after === undefined) return undefined
  if (!/^[0-9]{1,15}$/.test(after))
    throw new Refusal('requestMalformed', { why: 'after is not what a page gave as next' })
  return Number(after)
}

/** A page of rows of which one more than `limit` was read. */
export function pageOf<R, T>(
  rows: R[],
  asked: Asked,
  shown: (row: R) => T,
  keyOf: (row: R) => string,
): Page<T> {
  const limit = limitOf(asked)
  const items = rows.slice(0, limit)
  const last = items.at(-1)
  const hasMore = rows.length > limit && last !== undefined
  return { items: items.map(shown), ...(hasMore && { next: keyOf(last) }) }
}

/** A page of a list that lies in memory, by its place there. */
export function pageWithin<R, T>(all: readonly R[], asked: Asked, shown: (row: R) => T): Page<T> {
  const from = numberAfter(asked) ?? 0
  const to = from + limitOf(asked)
  return { items: all.slice(from, to).map(shown), ...(all.length > to && { next: String(to) }) }
}
