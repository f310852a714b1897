/**
 * What a peer tells of a review, verified as if it had been given here: nothing of it counts on the peer's word but that
 * the peer took it. Attacker: a peer that makes reviews up, alters them, or passes on those of others as its own.
 */
import { equal, Malformed } from '../../../protocol/encoding/bytes.ts'
import { keyAt } from '../../../protocol/identity/kel.ts'
import {
  Attestation,
  Receipt,
  Review,
  receiptBodyHash,
  receiptDigest,
  verifyReceipt,
} from '../../../protocol/proof/receipt.ts'
import type { PeerReview, ToldReview } from '../../store/peer-review-port.ts'
import type { HubContext } from '../context.ts'
import { CLOCK_WINDOW_MS } from '../limits.ts'
import { inForce } from '../reviews.ts'
import { Doubtful } from './doubtful.ts'
import type { Federation } from './federation.ts'
import type { PeerLogs } from './peer-logs.ts'
import type { Peer } from './peers.ts'

type Told = Exclude<ToldReview, { withdrawn: string }>
type Opened = { receipt: Receipt; review: Review; attestation: Attestation }

export class ReviewCheck {
  readonly #context: HubContext
  readonly #logs: PeerLogs
  readonly #federation: Federation

  constructor(context: HubContext, { logs, federation }: { logs: PeerLogs; federation: Federation }) {
    this.#context = context
    this.#logs = logs
    this.#federation = federation
  }

  /** What counts of it; throws {@link Doubtful}, or a refusal where it cannot be judged now. */
  async judge(told: ToldReview, by: Peer): Promise<PeerReview> {
    if ('withdrawn' in told) return { withdrawn: told.withdrawn }
    const opened = open(told)
    const { receipt, review, attestation } = opened
    const { provider, interactionId } = receipt.body
    const peer = await this.#federation.under(by, attestation.body.hubSeq)
    this.#checkAttestation(opened, told, peer)
    const log = await this.#logs.longest(provider, told.kel, peer)
    if (!inForce(log, receipt.body.providerKelSeq, receipt.body.end))
      throw new Doubtful('key of the provider')
    if (verifyReceipt(receipt, log) === undefined) throw new Doubtful('signature of the provider')
    return { provider, interaction: interactionId, rating: review.rating }
  }

  #checkAttestation({ receipt, review, attestation }: Opened, told: Told, { aid, log }: Peer): void {
    const { hub, hubSeq, hubTs, receiptDigest: digest, reviewHash } = attestation.body
    if (hub !== aid) throw new Doubtful('attestation of another hub')
    const rated = receiptDigest(receipt.bodyBytes)
    const isOfThese =
      equal(review.receiptDigest, rated) &&
      equal(digest, rated) &&
      equal(reviewHash, receiptBodyHash(told.review))
    if (!isOfThese) throw new Doubtful('attestation of something else')
    const isInTime =
      receipt.body.end <= hubTs + CLOCK_WINDOW_MS && hubTs <= this.#context.now() + CLOCK_WINDOW_MS
    if (!isInTime) throw new Doubtful('times')
    const key = inForce(log, hubSeq, hubTs) ? keyAt(log, hubSeq) : undefined
    if (key === undefined || !Attestation.verify(key, attestation)) throw new Doubtful('signature of the hub')
  }
}

function open({ receipt, review, attestation }: Told): Opened {
  try {
    return {
      receipt: Receipt.decode(receipt),
      review: Review.decode(review),
      attestation: Attestation.decode(attestation),
    }
  } catch (error) {
    throw error instanceof Malformed ? new Doubtful('form', { cause: error }) : error
  }
}
