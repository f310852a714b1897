/** Open reviews as engines keep them and as the hub sees them. */
import type { HeldOpenReview, OpenReviewRow } from './open-review-port.ts'

export type StoredOpenReview = OpenReviewRow & {
  fed_seq: number
  provider_kel: Uint8Array | null
  held_kel: Uint8Array | null
  reviewer_kel: Uint8Array | null
}

const NO_BYTES = new Uint8Array(0)

export function openReviewOf(row: StoredOpenReview): HeldOpenReview {
  const { fed_seq: fedSeq, provider_kel: providerKel, held_kel: heldKel, reviewer_kel: reviewerKel } = row
  const { provider, interaction, reviewer, rating, receipt, review, request, deliverable } = row
  return {
    ...{ provider, interaction, reviewer, rating, receipt, review, request, deliverable, fedSeq },
    providerKel: heldKel ?? providerKel ?? NO_BYTES,
    reviewerKel: reviewerKel ?? NO_BYTES,
  }
}

/** Bytes that an answer takes for it. */
export const sizeOfReview = (one: HeldOpenReview): number =>
  [one.receipt, one.review, one.request, one.deliverable, one.providerKel, one.reviewerKel].reduce(
    (sum, { length }) => sum + length,
    0,
  )
