/**
 * Reviews of agents whose mail is open: the requester signs one in its own name, shows the receipt that both sides
 * signed, and the two documents that it binds. The bytes are kept as they came, so that any peer may check them again.
 */
import { storedKel, type VerifiedKel } from '../../../protocol/identity/kel.ts'
import { decodeKelLazily } from '../../../protocol/identity/kel-lazy.ts'
import type { HeldOpenReview, OpenReviewEdge } from '../../store/open-review-port.ts'
import type { Agents } from '../agents.ts'
import type { HubContext } from '../context.ts'
import { Refusal, withoutRoom } from '../refusal.ts'
import type { FullReputation } from '../reviews.ts'
import {
  evidenceOf,
  inconsistent,
  isSignedByBoth,
  type OpenEvidence,
  type OpenReviewUpload,
} from './evidence.ts'
import { openSourceOf, sourcesOf } from './sources.ts'

const REVIEWS_BYTES_MAX = 4 * 1024 * 1024 * 1024
/** What one page has at most; its first review may be larger. */
const PAGE_MAX = 100
const PAGE_BYTES_MAX = 2 * 1024 * 1024
const EDGES_PAGE = 1000

export class OpenReviews {
  readonly #context: HubContext
  readonly #agents: Agents

  constructor(context: HubContext, agents: Agents) {
    this.#context = context
    this.#agents = agents
  }

  /** Takes a review of a task that has none; returns the interaction. Hashes come before signatures. */
  async upload(given: OpenReviewUpload): Promise<Uint8Array> {
    const evidence = evidenceOf(given, this.#context.now())
    const { provider, interactionId } = evidence.shared.receipt.body
    const { reviewer, rating } = evidence.review.body
    const { store } = this.#context
    await this.#checkFree(provider, interactionId, reviewer)
    const requesterLog = await this.#reviewerLog(reviewer)
    const { log, kel } = await this.#provider(provider)
    this.#checkSigned(evidence, { provider: log, reviewer: requesterLog })
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
  #checkSigned(evidence: OpenEvidence, logs: { provider: VerifiedKel; reviewer: VerifiedKel }): void {
    const { end, providerKelSeq } = evidence.shared.receipt.body
    const { kelSeq } = evidence.shared.counter.body
    const isRetired = providerKelSeq < logs.provider.seq || kelSeq < logs.reviewer.seq
    const { now, limits } = this.#context
    if (isRetired && now() > end + limits.reviewWindowMs) throw new Refusal('reviewWindowClosed')
    const isNewest = evidence.review.body.reviewerKelSeq === logs.reviewer.seq && !logs.reviewer.deactivated
    if (!isNewest || !isSignedByBoth(evidence, logs)) throw inconsistent('its signatures do not hold')
  }

  /** What this hub holds of an agent, and what peers attest. */
  async reputation(provider: string): Promise<FullReputation> {
    const { store, peers } = this.#context
    const hubs = peers.all.flatMap(({ aid }) => [aid, openSourceOf(aid)])
    const [own, told] = await Promise.all([
      store.openReputation(provider),
      store.peerReputation(provider, hubs),
    ])
    return { ...own, peers: sourcesOf(told) }
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

  /** Who reviewed whom, all of it, page by page. */
  async *edges(): AsyncGenerator<OpenReviewEdge[]> {
    for (let after = 0; ; ) {
      const page = await this.#context.store.openReviewEdges({ after, limit: EDGES_PAGE })
      yield page
      const last = page.at(-1)
      if (last === undefined) return
      after = last.fedSeq
    }
  }

  #page(provider: string | undefined, after: number): Promise<HeldOpenReview[]> {
    return this.#context.store.openReviews({ provider, after, limit: PAGE_MAX, bytesMax: PAGE_BYTES_MAX })
  }
}
