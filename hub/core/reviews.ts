/**
 * Reviews of finished tasks (hub API §4.3, objects: receipt, review): the requester shows a receipt that both sides
 * signed and opens its commitment. Kept is what names the provider only; the reviewer stays a keyed hash.
 */
import { createHmac } from 'node:crypto'
import { concat, equal, Malformed, utf8 } from '../../protocol/encoding/bytes.ts'
import { encodeKel, KelInvalid, type VerifiedKel } from '../../protocol/identity/kel.ts'
import {
  Attestation,
  counterSignatureHolds,
  decodeReviewable,
  NoCommitment,
  Receipt,
  Review,
  type ReviewableReceipt,
  receiptBodyHash,
  receiptDigest,
  requesterCommitment,
  verifyReceipt,
} from '../../protocol/proof/receipt.ts'
import type { SourceReviews, ToldReview } from '../store/peer-review-port.ts'
import type { Reputation } from '../store/port.ts'
import type { Agent, Agents } from './agents.ts'
import type { HubContext } from './context.ts'
import { CLOCK_WINDOW_MS } from './limits.ts'
import type { KeyLogs, SubmittedLog } from './membership/key-logs.ts'
import { Refusal } from './refusal.ts'

const REVIEWER_BYTES = 16
const REVIEWER_LABEL = 'svc-hub-reviewer/v1'

/** What a peer is told in one answer; the first of it may be larger. */
const TOLD_MAX = 100
const TOLD_BYTES_MAX = 2 * 1024 * 1024

/** `peers`: what the hubs of the operator's list attest. */
export type FullReputation = Reputation & { peers: SourceReviews[] }

export type ReviewUpload = { receipt: Uint8Array; review: Uint8Array; rsalt: Uint8Array }

export class Reviews {
  readonly #context: HubContext
  readonly #agents: Agents
  readonly #keyLogs: KeyLogs

  constructor(context: HubContext, agents: Agents, keyLogs: KeyLogs) {
    this.#context = context
    this.#agents = agents
    this.#keyLogs = keyLogs
  }

  /** Takes a review of its signer; returns the hub's attestation. Hashes and times come before signatures. */
  async upload(signer: Agent, given: ReviewUpload, address: string): Promise<Attestation> {
    const { now, store, identity, limits } = this.#context
    const nowMs = now()
    if (signer.row.probationUntilMs > nowMs) throw new Refusal('probation')
    const { reviewable, review } = decode(given)
    const { receipt, counter } = reviewable
    const { provider, interactionId, requesterCommitment: committed, end } = receipt.body
    const requester = signer.row.aid
    const opened = requesterCommitment(requester, interactionId, given.rsalt)
    if (counter.body.requester !== requester || !equal(committed, opened))
      throw new Refusal('commitmentMismatch')
    if (!equal(review.receiptDigest, receiptDigest(receipt.bodyBytes)))
      throw new Refusal('requestMalformed', { why: 'the review rates another receipt' })
    if (nowMs > end + limits.reviewWindowMs) throw new Refusal('reviewWindowClosed')
    if (provider === requester || end > nowMs + CLOCK_WINDOW_MS) throw new Refusal('receiptNotReviewable')
    if (await store.hasReview(provider, interactionId)) throw new Refusal('reviewExists')
    const log = await this.#checkSignatures(signer.log, reviewable, address)
    const attestation = Attestation.sign(identity.seed, {
      receiptDigest: review.receiptDigest,
      reviewHash: receiptBodyHash(given.review),
      hub: identity.aid,
      hubSeq: identity.seq,
      hubTs: nowMs,
    })
    const added = await store.addReview({
      provider,
      interaction: interactionId,
      reviewer: this.#reviewerTag(provider, requester),
      rating: review.rating,
      receipt: Receipt.encode(receipt),
      review: given.review,
      attestation: Attestation.encode(attestation),
      kel: encodeKel(log.events),
      home: log.home === identity.aid ? undefined : log.home,
    })
    if (!added) throw new Refusal('reviewExists')
    return attestation
  }

  /** The key history of the provider, where both signatures hold. */
  async #checkSignatures(
    requester: VerifiedKel,
    { receipt, counter, providerKel }: ReviewableReceipt,
    address: string,
  ): Promise<VerifiedKel> {
    const { provider, end, providerKelSeq } = receipt.body
    const log = await this.#providerLog({ aid: provider, events: providerKel, address })
    const holds =
      inForce(log, providerKelSeq, end) &&
      inForce(requester, counter.body.kelSeq, end) &&
      verifyReceipt(receipt, log) !== undefined &&
      counterSignatureHolds(counter, receipt, requester)
    if (!holds) throw new Refusal('receiptNotReviewable')
    return log
  }

  /** The longest valid log of the provider: the one that came along, or the one held here. */
  async #providerLog(submitted: SubmittedLog): Promise<VerifiedKel> {
    const held = (await this.#agents.find(submitted.aid))?.log
    try {
      return await this.#keyLogs.longest(submitted, held)
    } catch (error) {
      const limited = error instanceof Refusal && error.code === 'rateLimited'
      if (limited) throw error
      if (error instanceof Refusal || error instanceof KelInvalid) throw new Refusal('receiptNotReviewable')
      throw error
    }
  }

  /** Counts reviewers apart without naming them; equal reviewers of two providers can't be joined. */
  #reviewerTag(provider: string, reviewer: string): Uint8Array {
    const text = concat(
      utf8(REVIEWER_LABEL),
      Uint8Array.of(0),
      utf8(provider),
      Uint8Array.of(0),
      utf8(reviewer),
    )
    const tag = createHmac('sha256', this.#context.secret).update(text).digest()
    return new Uint8Array(tag.subarray(0, REVIEWER_BYTES))
  }

  async reputation(provider: string): Promise<FullReputation> {
    const { store, peers } = this.#context
    const hubs = peers.all.map(({ aid }) => aid)
    const [own, sources] = await Promise.all([
      store.reputation(provider),
      store.peerReputation(provider, hubs),
    ])
    return { ...own, peers: sources }
  }

  /** What a peer is told of the reviews given here, after what it was told before. */
  async told(peer: string, after: number): Promise<{ told: ToldReview[]; more: boolean }> {
    const query = { peer, after, limit: TOLD_MAX, bytesMax: TOLD_BYTES_MAX }
    return await this.#context.store.toldReviews(query)
  }
}

function decode(given: ReviewUpload): { reviewable: ReviewableReceipt; review: Review } {
  try {
    return { reviewable: decodeReviewable(given.receipt), review: Review.decode(given.review) }
  } catch (error) {
    if (error instanceof NoCommitment) throw new Refusal('receiptNotReviewable')
    if (error instanceof Malformed) throw new Refusal('requestMalformed', { why: error.message })
    throw error
  }
}

/** Whether the key of this state had not been replaced before the task ended. */
export function inForce(log: VerifiedKel, seq: number, endMs: number): boolean {
  const successor = log.events[seq + 1]
  return seq <= log.seq && (successor === undefined || endMs <= successor.body.ts + CLOCK_WINDOW_MS)
}

/** To two places; null where nothing was rated. */
export function average(ratings: number, reviews: number): number | null {
  return reviews === 0 ? null : Math.round((ratings * 100) / reviews) / 100
}

/** What this hub and its peers attest together; a peer is one source, because it tells of no reviewer. */
export function ofAllHubs({ reviews, ratings, mostOfOne, peers }: FullReputation) {
  return peers.reduce(
    (all, one) => ({
      reviews: all.reviews + one.reviews,
      ratings: all.ratings + one.ratings,
      mostOfOne: Math.max(all.mostOfOne, one.reviews),
    }),
    { reviews, ratings, mostOfOne },
  )
}
