/** What a peer tells of a review, verified as if it had been given here: the peer's word counts for nothing in it. */
import { Malformed } from '../../../protocol/encoding/bytes.ts'
import type { PeerReview } from '../../store/peer-review-port.ts'
import type { HubContext } from '../context.ts'
import { Doubtful } from '../federation/doubtful.ts'
import type { PeerLogs } from '../federation/peer-logs.ts'
import type { Peer } from '../federation/peers.ts'
import { evidenceOf, isSignedByBoth, type OpenEvidence } from '../open-reviews/evidence.ts'
import { Refusal } from '../refusal.ts'
import { inForce } from '../reviews.ts'
import type { ToldOpenReview } from './calls.ts'

export class OpenReviewCheck {
  readonly #context: HubContext
  readonly #logs: PeerLogs

  constructor(context: HubContext, logs: PeerLogs) {
    this.#context = context
    this.#logs = logs
  }

  /** What counts of it; throws {@link Doubtful}, or a refusal where it cannot be judged now. */
  async judge(told: ToldOpenReview, by: Peer): Promise<PeerReview> {
    const evidence = openedEvidence(told, this.#context.now())
    const { provider, interactionId } = evidence.shared.receipt.body
    const { reviewer, reviewerKelSeq, rating, ts } = evidence.review.body
    const logs = {
      provider: await this.#logs.longest(provider, told.providerKel, by),
      reviewer: await this.#logs.longest(reviewer, told.reviewerKel, by),
    }
    if (!inForce(logs.reviewer, reviewerKelSeq, ts) || !isSignedByBoth(evidence, logs))
      throw new Doubtful('signatures')
    return { provider, interaction: interactionId, rating }
  }
}

function openedEvidence(told: ToldOpenReview, nowMs: number): OpenEvidence {
  try {
    return evidenceOf(told, nowMs)
  } catch (error) {
    const isOfBytes = error instanceof Refusal && error.code === 'receiptNotReviewable'
    throw isOfBytes || error instanceof Malformed ? new Doubtful(error.message, { cause: error }) : error
  }
}
