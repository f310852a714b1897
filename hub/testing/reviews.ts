/** For tests: receipts that two agents signed, and the upload of a review of one. */
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { GENESIS } from '../../protocol/proof/evidence.ts'
import {
  CounterSignature,
  encodeReviewable,
  Receipt,
  type ReceiptBody,
  Review,
  receiptBodyHash,
  receiptDigest,
  requesterCommitment,
} from '../../protocol/proof/receipt.ts'
import { random, type TestAgent } from './hub.ts'

export type ReviewOptions = {
  body?: Partial<ReceiptBody>
  rating?: 1 | 2 | 3 | 4 | 5
  rsalt?: Uint8Array
  /** Who counter-signs, where it is not the requester. */
  counterSigner?: TestAgent
  /** Key that signs the receipt, where it is not the provider's. */
  providerSeed?: Uint8Array
}

/** The body of an upload by the requester of a task that just ended. */
export function reviewUpload(requester: TestAgent, provider: TestAgent, options: ReviewOptions = {}) {
  const nowMs = requester.target.clock.now()
  const rsalt = random(32)
  const interactionId = options.body?.interactionId ?? random(16)
  const body: ReceiptBody = {
    v: 1,
    interactionId,
    provider: provider.aid,
    providerKelSeq: provider.log.seq,
    requesterCommitment: requesterCommitment(requester.aid, interactionId, rsalt),
    requestCid: GENESIS,
    resultCid: GENESIS,
    start: nowMs - 2000,
    end: nowMs - 1000,
    status: 'UNVERIFIED',
    providerHead: [0, GENESIS],
    cover: [
      [1, []],
      [1, []],
    ],
    transcriptDigest: random(32),
    ...options.body,
  }
  const receipt = Receipt.sign(options.providerSeed ?? provider.seed, body)
  const signer = options.counterSigner ?? requester
  const counter = CounterSignature.sign(signer.seed, {
    requester: signer.aid,
    kelSeq: signer.log.seq,
    chainLength: 0,
    chainHead: GENESIS,
    bodyHash: receiptBodyHash(receipt.bodyBytes),
  })
  const review = Review.encode({
    v: 1,
    receiptDigest: receiptDigest(receipt.bodyBytes),
    rating: options.rating ?? 5,
    comment: 'done well',
    ts: nowMs,
  })
  return {
    receipt: toBase64url(encodeReviewable({ receipt, counter, providerKel: [...provider.log.events] })),
    review: toBase64url(review),
    rsalt: toBase64url(options.rsalt ?? rsalt),
  }
}
