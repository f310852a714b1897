/**
 * Reviews of agents whose mail is open: the requester signs one in its own name, shows the receipt that both sides
 * signed, and the two documents that it binds. The bytes are kept as they came, so that any peer may check them again.
 */
import { contentId } from '../../../protocol/crypto/hash.ts'
import { equal, Malformed } from '../../../protocol/encoding/bytes.ts'
import { storedKel, type VerifiedKel } from '../../../protocol/identity/kel.ts'
import { decodeKelLazily } from '../../../protocol/identity/kel-lazy.ts'
import {
  decodeShared,
  holdsOpenReview,
  OpenReview,
  type SharedReceipt,
} from '../../../protocol/proof/open-review.ts'
import { receiptDigest, verifyReceipt } from '../../../protocol/proof/receipt.ts'
import type { HeldOpenReview, OpenReviewEdge } from '../../store/open-review-port.ts'
import type { Agents } from '../agents.ts'
import type { HubContext } from '../context.ts'
import { CLOCK_WINDOW_MS } from '../limits.ts'
import { Refusal, withoutRoom } from '../refusal.ts'
import { type FullReputation, inForce } from '../reviews.ts'

const REVIEWS_BYTES_MAX = 4 * 1024 * 1024 * 1024
/** What one page has at most; its first review may be larger. */
const PAGE_MAX = 100
const PAGE_BYTES_MAX = 2 * 1024 * 1024
const EDGES_PAGE = 1000

/** As they were sent, byte for byte. */
export type OpenReviewUpload = {
  receipt: Uint8Array
  review: Uint8Array
  request: Uint8Array
  deliverable: Uint8Array
}

export class OpenReviews {
  readonly #context: HubContext
  readonly #agents: Agents

  constructor(context: HubContext, agents: Agents) {
    this.#context = context
    this.#agents = agents
  }

  /** Takes a review of a task that has none; returns the interaction. Hashes come before signatures. */
  async upload(given: OpenReviewUpload): Promise<Uint8Array> {
    const { shared, review } = decoded(given)
    const { provider, interactionId, requestCid, resultCid } = shared.receipt.body
    const { reviewer, rating } = review.body
    const isBound =
      equal(requestCid, contentId(given.request)) && equal(resultCid, contentId(given.deliverable))
    if (!isBound) throw inconsistent('the documents are not those of the receipt')
    this.#checkWhose(shared, review)
    const { store } = this.#context
    await this.#checkFree(provider, interactionId, reviewer)
    const requesterLog = await this.#reviewerLog(reviewer)
    const { log, kel } = await this.#provider(provider)
    this.#checkSigned(shared, review, { provider: log, reviewer: requesterLog })
    const { outcome } = await store.addOpenReview({
      ...given,
      ...{ provider, interaction: interactionId, reviewer, rating },
      providerKel: kel,
      bytesMax: REVIEWS_BYTES_MAX,
    })
    if (outcome === 'full') throw withoutRoom('more reviews')
    if (outcome === 'exists') await this.#checkFree(provider, interactionId, reviewer)
    return interactionId
  }

  /** Refuses a review of another receipt or of somebody else's task, one of oneself, and times that are yet to come. */
  #checkWhose({ receipt, counter }: SharedReceipt, { body }: OpenReview): void {
    const { provider, end } = receipt.body
    const latestMs = this.#context.now() + CLOCK_WINDOW_MS
    if (!equal(body.receiptDigest, receiptDigest(receipt.bodyBytes)))
      throw inconsistent('the review rates another receipt')
    if (counter.body.requester !== body.reviewer)
      throw inconsistent('the reviewer is not who counter-signed the receipt')
    if (provider === body.reviewer) throw inconsistent('nobody reviews itself')
    if (end > latestMs || body.ts > latestMs) throw inconsistent('its time is yet to come')
  }

  async #checkFree(provider: string, interaction: Uint8Array, reviewer: string): Promise<void> {
    const held = await this.#context.store.openReviewer(provider, interaction)
    if (held === reviewer) throw new Refusal('reviewExists')
    if (held !== undefined) throw new Refusal('reviewOfAnother')
  }

  async #reviewerLog(aid: string): Promise<VerifiedKel> {
    const agent = await this.#agents.findRegistered(aid)
    if (agent?.row.mail !== 'open') throw new Refusal('challengerUnknown')
    return agent.log
  }

  /** Known here or, with its log, from the card that a peer told of it. */
  async #provider(aid: string): Promise<{ log: VerifiedKel; kel: Uint8Array | undefined }> {
    const agent = await this.#agents.find(aid)
    if (agent?.row.mail === 'open') return { log: agent.log, kel: undefined }
    const { store, peers } = this.#context
    const told = await store.openPeerAgent(
      aid,
      peers.all.map(peer => peer.aid),
    )
    if (agent !== undefined || told === undefined) throw new Refusal('unknownAgent')
    return { log: storedKel(decodeKelLazily(told.kel)), kel: told.kel }
  }

  /** A key that was retired since counts for what it signed before, and not for ever: others may have it by now. */
  #checkSigned(
    shared: SharedReceipt,
    review: OpenReview,
    logs: { provider: VerifiedKel; reviewer: VerifiedKel },
  ): void {
    const { end, providerKelSeq } = shared.receipt.body
    const { kelSeq } = shared.counter.body
    const isRetired = providerKelSeq < logs.provider.seq || kelSeq < logs.reviewer.seq
    const { now, limits } = this.#context
    if (isRetired && now() > end + limits.reviewWindowMs) throw new Refusal('reviewWindowClosed')
    const holds =
      review.body.reviewerKelSeq === logs.reviewer.seq &&
      !logs.reviewer.deactivated &&
      inForce(logs.provider, providerKelSeq, end) &&
      inForce(logs.reviewer, kelSeq, end) &&
      verifyReceipt(shared.receipt, logs.provider) !== undefined &&
      holdsOpenReview(review, shared, logs.reviewer)
    if (!holds) throw inconsistent('its signatures do not hold')
  }

  /** What this hub holds of an agent, and what peers attest. */
  async reputation(provider: string): Promise<FullReputation> {
    const { store, peers } = this.#context
    const hubs = peers.all.map(({ aid }) => aid)
    const [own, sources] = await Promise.all([
      store.openReputation(provider),
      store.peerReputation(provider, hubs),
    ])
    return { ...own, peers: sources }
  }

  totals(): Promise<{ reviews: number; ratings: number }> {
    return this.#context.store.openReviewTotals()
  }

  /** What peers are told after a number. */
  told(after: number): Promise<HeldOpenReview[]> {
    return this.#page(undefined, after)
  }

  /** All reviews of an agent, in the order in which they came. */
  async *of(provider: string): AsyncGenerator<HeldOpenReview> {
    for (let after = 0; ; ) {
      const page = await this.#page(provider, after)
      yield* page
      const last = page.at(-1)
      if (last === undefined) return
      after = last.fedSeq
    }
  }

  /** Who reviewed whom, all of it. */
  async *edges(): AsyncGenerator<OpenReviewEdge> {
    for (let after = 0; ; ) {
      const page = await this.#context.store.openReviewEdges({ after, limit: EDGES_PAGE })
      yield* page
      const last = page.at(-1)
      if (last === undefined) return
      after = last.fedSeq
    }
  }

  #page(provider: string | undefined, after: number): Promise<HeldOpenReview[]> {
    return this.#context.store.openReviews({ provider, after, limit: PAGE_MAX, bytesMax: PAGE_BYTES_MAX })
  }
}

function decoded(given: OpenReviewUpload): { shared: SharedReceipt; review: OpenReview } {
  try {
    return { shared: decodeShared(given.receipt), review: OpenReview.decode(given.review) }
  } catch (error) {
    if (error instanceof Malformed) throw inconsistent(error.message)
    throw error
  }
}

const inconsistent = (why: string): Refusal => new Refusal('receiptNotReviewable', { why })
