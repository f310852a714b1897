/** What makes a review count that its reviewer signed in its own name: documents, receipt and review, wherever it came from. */
import { contentId } from '../../../protocol/crypto/hash.ts'
import { equal, Malformed } from '../../../protocol/encoding/bytes.ts'
import type { VerifiedKel } from '../../../protocol/identity/kel.ts'
import {
  decodeShared,
  holdsOpenReview,
  OpenReview,
  type SharedReceipt,
} from '../../../protocol/proof/open-review.ts'
import { receiptDigest, verifyReceipt } from '../../../protocol/proof/receipt.ts'
import { CLOCK_WINDOW_MS } from '../limits.ts'
import { Refusal } from '../refusal.ts'
import { inForce } from '../reviews.ts'

/** As they were sent, byte for byte. */
export type OpenReviewUpload = {
  receipt: Uint8Array
  review: Uint8Array
  request: Uint8Array
  deliverable: Uint8Array
}
/** `shared`: the receipt of both sides. */
export type OpenEvidence = { shared: SharedReceipt; review: OpenReview }

/** Reads what was sent, and refuses what does not belong together; no signature is checked. */
export function evidenceOf(given: OpenReviewUpload, nowMs: number): OpenEvidence {
  const evidence = decoded(given)
  const { requestCid, resultCid } = evidence.shared.receipt.body
  const isBound =
    equal(requestCid, contentId(given.request)) && equal(resultCid, contentId(given.deliverable))
  if (!isBound) throw inconsistent('the documents are not those of the receipt')
  checkWhose(evidence, nowMs + CLOCK_WINDOW_MS)
  return evidence
}

function decoded({ receipt, review }: OpenReviewUpload): OpenEvidence {
  try {
    return { shared: decodeShared(receipt), review: OpenReview.decode(review) }
  } catch (error) {
    if (error instanceof Malformed) throw inconsistent(error.message)
    throw error
  }
}

/** Refuses a review of another receipt or of somebody else's task, one of oneself, and times that are yet to come. */
function checkWhose(
  { shared: { receipt, counter }, review: { body } }: OpenEvidence,
  latestMs: number,
): void {
  const { provider, end } = receipt.body
  if (!equal(body.receiptDigest, receiptDigest(receipt.bodyBytes)))
    throw inconsistent('the review rates another receipt')
  if (counter.body.requester !== body.reviewer)
    throw inconsistent('the reviewer is not who counter-signed the receipt')
  if (provider === body.reviewer) throw inconsistent('nobody reviews itself')
  if (end > latestMs || body.ts > latestMs) throw inconsistent('its time is yet to come')
}

/** Whether both signed under keys that were in force when the task ended, and the reviewer the review. */
export function isSignedByBoth(
  { shared, review }: OpenEvidence,
  { provider, reviewer }: { provider: VerifiedKel; reviewer: VerifiedKel },
): boolean {
  const { end, providerKelSeq } = shared.receipt.body
  return (
    inForce(provider, providerKelSeq, end) &&
    inForce(reviewer, shared.counter.body.kelSeq, end) &&
    verifyReceipt(shared.receipt, provider) !== undefined &&
    holdsOpenReview(review, shared, reviewer)
  )
}

/** What was sent does not prove what it says. */
export const inconsistent = (why: string): Refusal => new Refusal('receiptNotReviewable', { why })
