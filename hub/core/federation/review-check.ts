/**
 * What a peer tells of a review, verified as if it had been given here: nothing of it counts on the peer's word but that
 * the peer took it. Attacker: a peer that makes reviews up, alters them, or passes on those of others as its own.
 */
import { equal, Malformed } from '../../../protocol/encoding/bytes.ts'
import { KelInvalid, keyAt, type VerifiedKel } from '../../../protocol/identity/kel.ts'
import {
  Attestation,
  Receipt,
  Review,
  receiptBodyHash,
  receiptDigest,
  verifyReceipt,
} from '../../../protocol/proof/receipt.ts'
import type { PeerReview, ToldReview } from '../../store/peer-review-port.ts'
import type { Agents } from '../agents.ts'
import type { HubContext } from '../context.ts'
import { eventsOf, type KeyLogs } from '../key-logs.ts'
import { CLOCK_WINDOW_MS } from '../limits.ts'
import { Refusal } from '../refusal.ts'
import { inForce } from '../reviews.ts'
import type { Federation } from './federation.ts'
import type { Peer } from './peers.ts'

/** A review that does not hold; `why` names the part. */
export class WrongReview extends Error {
  override name = 'WrongReview'
}

type Told = Exclude<ToldReview, { withdrawn: string }>
type Opened = { receipt: Receipt; review: Review; attestation: Attestation }

/** Refusals that say nothing of the bytes: the same review may hold later. */
const OF_THE_MOMENT: readonly string[] = ['rateLimited', 'overloaded']

export class ReviewCheck {
  readonly #context: HubContext
  readonly #agents: Agents
  readonly #keyLogs: KeyLogs
  readonly #federation: Federation

  constructor(
    context: HubContext,
    { agents, keyLogs, federation }: { agents: Agents; keyLogs: KeyLogs; federation: Federation },
  ) {
    this.#context = context
    this.#agents = agents
    this.#keyLogs = keyLogs
    this.#federation = federation
  }

  /** What counts of it; throws {@link WrongReview}, or a refusal where it cannot be judged now. */
  async judge(told: ToldReview, by: Peer): Promise<PeerReview> {
    if ('withdrawn' in told) return { withdrawn: told.withdrawn }
    const opened = open(told)
    const { receipt, review, attestation } = opened
    const { provider, interactionId } = receipt.body
    const peer = await this.#federation.under(by, attestation.body.hubSeq)
    this.#checkAttestation(opened, told, peer)
    const log = await this.#providerLog(provider, told.kel, peer)
    if (!inForce(log, receipt.body.providerKelSeq, receipt.body.end))
      throw new WrongReview('key of the provider')
    if (verifyReceipt(receipt, log) === undefined) throw new WrongReview('signature of the provider')
    return { provider, interaction: interactionId, rating: review.rating }
  }

  #checkAttestation({ receipt, review, attestation }: Opened, told: Told, { aid, log }: Peer): void {
    const { hub, hubSeq, hubTs, receiptDigest: digest, reviewHash } = attestation.body
    if (hub !== aid) throw new WrongReview('attestation of another hub')
    const rated = receiptDigest(receipt.bodyBytes)
    const isOfThese =
      equal(review.receiptDigest, rated) &&
      equal(digest, rated) &&
      equal(reviewHash, receiptBodyHash(told.review))
    if (!isOfThese) throw new WrongReview('attestation of something else')
    const isInTime =
      receipt.body.end <= hubTs + CLOCK_WINDOW_MS && hubTs <= this.#context.now() + CLOCK_WINDOW_MS
    if (!isInTime) throw new WrongReview('times')
    const key = inForce(log, hubSeq, hubTs) ? keyAt(log, hubSeq) : undefined
    if (key === undefined || !Attestation.verify(key, attestation))
      throw new WrongReview('signature of the hub')
  }

  /** Signatures of its events are charged to the peer. */
  async #providerLog(provider: string, kel: Uint8Array, { aid: address }: Peer): Promise<VerifiedKel> {
    const held = (await this.#agents.find(provider))?.log
    try {
      return await this.#keyLogs.longest({ aid: provider, events: eventsOf(provider, kel), address }, held)
    } catch (error) {
      if (error instanceof Refusal && OF_THE_MOMENT.includes(error.code)) throw error
      if (error instanceof Refusal || error instanceof Malformed || error instanceof KelInvalid)
        throw new WrongReview('key history of the provider', { cause: error })
      throw error
    }
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
    throw error instanceof Malformed ? new WrongReview('form', { cause: error }) : error
  }
}
