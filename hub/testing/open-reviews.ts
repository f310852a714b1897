/** For tests: reviews of tasks between agents with open mail, as they are uploaded. */
import { contentId } from '../../protocol/crypto/hash.ts'
import { toBase64 } from '../../protocol/encoding/bytes.ts'
import { documentBytes } from '../../protocol/proof/documents.ts'
import { GENESIS } from '../../protocol/proof/evidence.ts'
import { encodeShared, OpenReview } from '../../protocol/proof/open-review.ts'
import {
  CounterSignature,
  Receipt,
  type ReceiptBody,
  receiptBodyHash,
  receiptDigest,
} from '../../protocol/proof/receipt.ts'
import { random } from './hub.ts'
import type { OpenAgent } from './wire1.ts'

export type OpenReviewOptions = {
  body?: Partial<ReceiptBody>
  rating?: 1 | 2 | 3 | 4 | 5
  review?: Partial<OpenReview['body']>
  goal?: string
  answer?: string
  /** Who counter-signs, where it is not the reviewer. */
  counterSigner?: OpenAgent
  /** Key that signs the receipt, where it is not the provider's. */
  providerSeed?: Uint8Array
}

const MS_BEFORE = 1000

/** The body of an upload by the requester of a task that just ended. */
export function openReviewUpload(
  reviewer: OpenAgent,
  provider: Pick<OpenAgent, 'aid' | 'log' | 'seed'>,
  options: OpenReviewOptions = {},
) {
  const { nowMs } = reviewer
  const request = documentBytes({ task: options.goal ?? 'add numbers', attachments: [] })
  const deliverable = documentBytes({ text: options.answer ?? 'they are 5', attachments: [] })
  const receipt = Receipt.sign(options.providerSeed ?? provider.seed, {
    ...{ v: 1, interactionId: random(16), provider: provider.aid, providerKelSeq: provider.log.seq },
    ...{ requesterCommitment: random(32), requestCid: contentId(request), resultCid: contentId(deliverable) },
    ...{ start: nowMs - 2 * MS_BEFORE, end: nowMs - MS_BEFORE, status: 'UNVERIFIED' },
    ...{ providerHead: [0, GENESIS], transcriptDigest: random(32) },
    cover: [
      [1, []],
      [1, []],
    ],
    ...options.body,
  })
  const signer = options.counterSigner ?? reviewer
  const counter = CounterSignature.sign(signer.seed, {
    ...{ requester: signer.aid, kelSeq: signer.log.seq, chainLength: 0, chainHead: GENESIS },
    bodyHash: receiptBodyHash(receipt.bodyBytes),
  })
  const review = OpenReview.sign(reviewer.seed, {
    ...{ v: 1, receiptDigest: receiptDigest(receipt.bodyBytes), rating: options.rating ?? 5 },
    ...{ comment: 'done well', ts: nowMs, reviewer: reviewer.aid, reviewerKelSeq: reviewer.log.seq },
    ...options.review,
  })
  return {
    receipt: toBase64(encodeShared({ receipt, counter })),
    review: toBase64(OpenReview.encode(review)),
    request_doc: toBase64(request),
    deliverable: toBase64(deliverable),
  }
}
