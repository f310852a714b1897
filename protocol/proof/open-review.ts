/**
 * A review that the reviewer signs in its own name (objects: open reviews), and a receipt as it is shown with one: with
 * the counter-signature that makes the reviewer its requester. No commitment is opened.
 */
import { COMMENT_BYTES_MAX } from '../contract/limits.ts'
import { type Signed, signed } from '../crypto/signed.ts'
import { equal } from '../encoding/bytes.ts'
import { type CborValue, decode, encode } from '../encoding/cbor.ts'
import { bytes, type Infer, literal, oneOf, record, required, text, tuple, uint } from '../encoding/record.ts'
import { aid } from '../identity/aid.ts'
import { keyAt, type VerifiedKel } from '../identity/kel.ts'
import { CounterSignature, counterSignatureHolds, Receipt, receiptDigest } from './receipt.ts'

/** Bytes of its body at most; the comment takes most of them. */
const OPEN_REVIEW_BYTES_MAX = 5 * 1024

const OpenReviewBody = record('open review', {
  v: required(1, literal(1)),
  receiptDigest: required(2, bytes(32)),
  rating: required(3, oneOf(1, 2, 3, 4, 5)),
  comment: required(4, text(COMMENT_BYTES_MAX)),
  ts: required(5, uint),
  reviewer: required(6, aid),
  reviewerKelSeq: required(7, uint),
})
type OpenReviewBody = Infer<typeof OpenReviewBody>

/** `[body, sig]` by the reviewer's identity key. */
export const OpenReview = signed('svc-open-review/v1', OpenReviewBody, OPEN_REVIEW_BYTES_MAX)
/** As parsed: {@link holdsOpenReview} checks its signature. */
export type OpenReview = Signed<OpenReviewBody>

/** A receipt that both sides signed. */
export type SharedReceipt = { receipt: Receipt; counter: CounterSignature }

const asIs = { read: (value: CborValue) => value, write: (value: CborValue) => value }
const triple = tuple<[CborValue, CborValue, CounterSignature]>(asIs, asIs, CounterSignature)

/** `[receipt body, provider's sig, counter-signature]`. */
export function encodeShared({ receipt, counter }: SharedReceipt): Uint8Array {
  const [body, signature] = Receipt.write(receipt) as [Uint8Array, Uint8Array]
  return encode([body, signature, CounterSignature.write(counter)])
}

/** Throws Malformed; verifies no signature. */
export function decodeShared(received: Uint8Array): SharedReceipt {
  const [body, signature, counter] = triple.read(decode(received), 'receipt of both sides')
  return { receipt: Receipt.read([body, signature], 'receipt'), counter }
}

/** Whether the reviewer signed both the review and, as its requester, the receipt that it rates. */
export function holdsOpenReview(
  review: OpenReview,
  { receipt, counter }: SharedReceipt,
  reviewer: VerifiedKel,
): boolean {
  const key = review.body.reviewer === reviewer.aid ? keyAt(reviewer, review.body.reviewerKelSeq) : undefined
  return (
    key !== undefined &&
    equal(review.body.receiptDigest, receiptDigest(receipt.bodyBytes)) &&
    counterSignatureHolds(counter, receipt, reviewer) &&
    OpenReview.verify(key, review)
  )
}
