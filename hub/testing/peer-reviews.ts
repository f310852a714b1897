/** For tests: reviews as a peer tells them, whole or with something in them made up. */
import { fromBase64url } from '../../protocol/encoding/bytes.ts'
import { encodeKel, type VerifiedKel } from '../../protocol/identity/kel.ts'
import {
  Attestation,
  decodeReviewable,
  Receipt,
  Review,
  receiptBodyHash,
} from '../../protocol/proof/receipt.ts'
import type { ToldReview } from '../store/peer-review-port.ts'
import { TestAgent } from './hub.ts'
import { type ReviewOptions, reviewUpload } from './reviews.ts'

export type ReviewRecord = Exclude<ToldReview, { withdrawn: string }>
export type ToldOptions = ReviewOptions & {
  fedSeq?: number
  requester?: TestAgent
  /** What the attestation says instead. */
  attested?: Partial<Attestation['body']>
  /** The key that signs the attestation, where it is not the hub's. */
  hubSeed?: Uint8Array
  log?: VerifiedKel
}

/** A review of an agent that a hub, which here is a key like any other, took and attests. */
export function toldReview(hub: TestAgent, provider: TestAgent, options: ToldOptions = {}): ReviewRecord {
  const { fedSeq = 1, requester = new TestAgent(provider.target), attested, hubSeed, log, ...rest } = options
  const upload = reviewUpload(requester, provider, rest)
  const { receipt } = decodeReviewable(fromBase64url(upload.receipt))
  const review = fromBase64url(upload.review)
  const attestation = Attestation.sign(hubSeed ?? hub.seed, {
    receiptDigest: Review.decode(review).receiptDigest,
    reviewHash: receiptBodyHash(review),
    hub: hub.aid,
    hubSeq: hub.log.seq,
    hubTs: provider.target.clock.now(),
    ...attested,
  })
  return {
    fedSeq,
    receipt: Receipt.encode(receipt),
    review,
    attestation: Attestation.encode(attestation),
    kel: encodeKel((log ?? provider.log).events),
  }
}
