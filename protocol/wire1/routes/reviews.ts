/** Reviews over wire 1: their reviewer signs them, and shows the documents of the task. */
import * as z from 'zod'
import { DOCUMENT_BYTES_MAX } from '../../contract/limits.ts'
import { route } from '../../contract/route.ts'
import { blob64, count } from '../../contract/shapes.ts'
import { kel64 } from './shapes.ts'

const KIB = 1024
const MIB = 1024 * KIB
const RECEIPT_BYTES_MAX = 66 * KIB
const REVIEW_BYTES_MAX = 6 * KIB

const blocks = {
  receipt: blob64(RECEIPT_BYTES_MAX),
  review: blob64(REVIEW_BYTES_MAX),
  request_doc: blob64(DOCUMENT_BYTES_MAX),
  deliverable: blob64(DOCUMENT_BYTES_MAX),
}

/** A review as peers read it: its bytes, and both logs. */
export const toldReview = z.object({ ...blocks, provider_kel: kel64, reviewer_kel: kel64, fed_seq: count })

/** Giving a review, and what peers read of those given here. */
export const reviewRoutes = {
  reviewGive: route({
    method: 'POST',
    path: '/reviews',
    auth: 'none',
    request: z.object(blocks),
    reply: z.object({ interaction_id: z.string(), status: z.literal('accepted') }),
    codes: ['malformed', 'unauthorized', 'unknown', 'conflict', 'failed'],
    limits: { bodyBytes: 3 * MIB },
  }),
  federationReviews: route({
    method: 'GET',
    path: '/federation/reviews',
    auth: 'none',
    query: z.object({ since: z.string().optional() }),
    reply: z.object({
      reviews: z.array(toldReview),
      next: count,
    }),
    codes: ['malformed'],
  }),
} as const
