/** Reviews: their reviewer brings them with all that proves them, and peers read them from here. */
import { fromBase64, toBase64, toBase64url } from '../../protocol/encoding/bytes.ts'
import type { Hub } from '../core/hub.ts'
import type { OpenReviews } from '../core/open-reviews/open-reviews.ts'
import { Refusal } from '../core/refusal.ts'
import type { Part } from './handler.ts'

export function reviewHandlers({ openReviews }: Hub): Part<'reviewGive' | 'federationReviews'> {
  return {
    async reviewGive({ body }) {
      const interaction = await openReviews.upload({
        receipt: fromBase64(body.receipt),
        review: fromBase64(body.review),
        request: fromBase64(body.request_doc),
        deliverable: fromBase64(body.deliverable),
      })
      return { interaction_id: toBase64url(interaction), status: 'accepted' as const }
    },
    federationReviews: ({ query }) => shownReviews(openReviews, numberOf(query.since ?? '0', 'since')),
  }
}

/** Reviews after a number, and up to which number that is. */
export async function shownReviews(openReviews: OpenReviews, after: number) {
  const told = await openReviews.told(after)
  const reviews = told.map(one => ({
    receipt: toBase64(one.receipt),
    review: toBase64(one.review),
    request_doc: toBase64(one.request),
    deliverable: toBase64(one.deliverable),
    provider_kel: toBase64(one.providerKel),
    reviewer_kel: toBase64(one.reviewerKel),
    fed_seq: one.fedSeq,
  }))
  return { reviews, next: told.at(-1)?.fedSeq ?? after }
}

/** A place in an order, as a query names it. */
export function numberOf(text: string, member: string): number {
  const number = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(number))
    throw new Refusal('requestMalformed', { why: `${member} must be a number that an answer named` })
  return number
}
