/** What the routes of the operator's surface share: pages of lists, limits of bodies, and how each is opened. */
import * as z from 'zod'

/** Items of one page of a list, where nothing is said. */
export const ADMIN_PAGE_DEFAULT = 50
/** Items of one page at most. */
export const ADMIN_PAGE_MAX = 200

const MIB = 1024 * 1024

/** The cap of a body, as the document of wire 1 sets it for this surface. */
export const body = { bodyBytes: MIB }
/** Members of the query of a list: where to go on, and how many items. */
export const paging = {
  after: z.string().max(256).optional(),
  limit: z
    .string()
    .regex(/^[0-9]{1,3}$/, { error: `expected a number from 1 to ${ADMIN_PAGE_MAX}` })
    .transform(Number)
    .pipe(z.int().min(1).max(ADMIN_PAGE_MAX))
    .optional(),
}
/** A page of a list. */
export const paged = <S extends z.ZodType>(item: S) =>
  z.object({ items: z.array(item), next: z.string().optional() })
/** The query of a list that takes no more. */
export const pageQuery = z.object(paging)
/** An average of ratings; 0 where there are none. */
export const rating = z.number().min(0).max(5)

/** A look. */
export const reads = { auth: 'bearer', codes: ['unauthorized', 'limited', 'malformed'] } as const
/** A look at one thing, or an order about it. */
export const ofOne = { auth: 'bearer', codes: [...reads.codes, 'unknown', 'forbidden'] } as const
/** An order with a body. */
export const changes = { ...ofOne, limits: body } as const
/** An order for which there may be no room. */
export const writes = { auth: 'bearer', codes: [...ofOne.codes, 'failed'], limits: body } as const
