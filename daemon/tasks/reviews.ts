/**
 * Ratings: signed off at once, kept, and uploaded by themselves as soon as the hub takes them, within 30 days of the
 * task's end (objects: receipt, review; node specification: review).
 */

import { Refused } from '../../protocol/contract/client.ts'
import type { ReplyOf } from '../../protocol/contract/route.ts'
import type { Operations } from '../../protocol/control/operations.ts'
import type { InteractionSummary } from '../../protocol/control/shapes.ts'
import { equal } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { keyAt } from '../../protocol/identity/kel.ts'
import { encodeShared, OpenReview } from '../../protocol/proof/open-review.ts'
import {
  Attestation,
  CounterSignature,
  encodeReviewable,
  Receipt,
  Review,
  receiptBodyHash,
} from '../../protocol/proof/receipt.ts'
import type { CurrentHub } from '../hubs/current.ts'
import { describe } from '../hubs/failures.ts'
import type { HubClient, ReviewUpload } from '../hubs/hub.ts'
import { learnHubKey } from '../hubs/log.ts'
import type { OpenReviews, OpenReviewUpload } from '../hubs/open-mail.ts'
import type { Identity } from '../identity/identity.ts'
import type { PeerBook } from '../peers/peers.ts'
import { Loop } from '../platform/loop.ts'
import type { Machine } from '../platform/machine.ts'
import type { Waker } from '../platform/waker.ts'
import { refuse } from '../refusal.ts'
import type { Store } from '../store/open.ts'
import { noReason, ownReason, reasonOfHub } from '../store/reasons.ts'
import {
  concludeReview,
  dueReviews,
  nextReviewAt,
  postponeReview,
  type ReviewRow,
  reviewOf,
} from '../store/reviews.ts'
import type { Interaction, Threads } from '../store/threads.ts'
import { documentsOf } from './documents.ts'
import { isSigned, keptRating, type Rating, type Ratings } from './ratings.ts'
import { isRequester } from './standing.ts'

const RETRY_MS = 10 * 60_000
const PROBATION_RETRY_MS = 3_600_000
const ROUND_MS = 10 * 60_000
const FIRST_ANSWER_MS = 5000
const DUE_MAX = 16

/** What this node itself says of a review; whatever else is said of one came from a call to the hub. */
const SAYS = {
  late: 'the 30 days for a review are over',
  noHub: 'this node is registered at no hub',
  incomplete: 'the receipt is not complete here, or contradicted by another',
  publishes:
    'this hub publishes the whole task and its answer with a review, under your name; give it again with --publish to let it',
  unattested: 'the attestation of the hub does not verify',
} as const

type Why = Pick<ReviewRow, 'reason' | 'reasonBy'>
type Postponed = Why & Partial<Pick<ReviewRow, 'waitsFor'>>

/** Refusals that the same review will meet again. */
const FINAL_CODES = new Set([
  'bad_request',
  'conflict',
  'receipt_not_reviewable',
  'requester_commit_mismatch',
  'review_window_closed',
  'too_large',
])

type ReviewReply = NonNullable<ReplyOf<Operations['review']>>

type ReviewParts = { store: Store; ratings: Ratings; uploads: Pick<ReviewUploads, 'firstAnswer'> }

/**
 * Keeps a review of a finished interaction, one a task, the first stays; answers what the hub said if it is quick. A
 * rating that waits for its receipt is replaced.
 */
export async function keepReview(
  { store, ratings, uploads }: ReviewParts,
  interaction: Interaction,
  rating: Rating,
): Promise<ReviewReply> {
  if (!isRequester(interaction)) refuse('wrong_state', 'only who delegated a task can review it')
  if (!isSigned(interaction)) {
    if (keptRating(store, interaction) === undefined)
      refuse('no_receipt', 'there is no receipt signed by both sides yet')
    store.transaction(() => ratings.keep(interaction, rating), 'node.review')
    return {
      interaction_id: interaction.id,
      rating: rating.rating,
      ...keptRating(store, interaction)?.review,
      uploaded: false,
    }
  }
  store.transaction(() => ratings.sign(interaction, rating), 'node.review')
  await uploads.firstAnswer(interaction.key)
  return replyOf(interaction, reviewOf(store, interaction.key) as ReviewRow)
}

const replyOf = (interaction: Interaction, row: ReviewRow): ReviewReply => ({
  interaction_id: interaction.id,
  rating: row.rating,
  review_cid: row.cid,
  ...standingOf(row),
})

function standingOf(row: ReviewRow): NonNullable<InteractionSummary['review']> {
  return {
    uploaded: row.state === 'uploaded',
    ...present({
      reason: row.reason ?? undefined,
      reason_quotes: row.reasonBy === 'hub' || undefined,
      next_try_at: row.state === 'kept' && row.waitsFor === null ? Math.ceil(row.nextAt) : undefined,
    }),
  }
}

/** The rating of an interaction, and whether the hub has it, for listings. */
export function reviewStanding(
  store: Store,
  interaction: Interaction,
): Pick<InteractionSummary, 'rating' | 'review'> {
  const row = reviewOf(store, interaction.key)
  return row === undefined
    ? (keptRating(store, interaction) ?? {})
    : { rating: row.rating, review: standingOf(row) }
}

type UploadParts = {
  identity: Identity
  store: Store
  peers: PeerBook
  threads: Threads
  hub: CurrentHub
  waker: Waker
}

/** Uploads kept reviews one after another, each when its time has come. */
export class ReviewUploads {
  readonly #parts: UploadParts
  readonly #machine: Machine
  readonly #loop: Loop
  readonly #waiting = new Map<number, () => void>()

  constructor(parts: UploadParts, machine: Machine, restFirstMs: number) {
    this.#parts = parts
    this.#machine = machine
    this.#loop = new Loop({
      name: 'reviews',
      waker: parts.waker,
      log: machine.log,
      restFirstMs,
      turn: signal => this.#turn(signal),
    })
  }

  start(): void {
    this.#loop.start()
  }

  async stop(): Promise<void> {
    for (const answered of this.#waiting.values()) answered()
    await this.#loop.stop()
  }

  /** Everything that is due now, once. */
  look(): Promise<void> {
    return this.#loop.once()
  }

  /** Resolves after the attempt that is due for this review, or after a short time without it; at once where none is due. */
  async firstAnswer(interaction: number): Promise<void> {
    const { hub, waker } = this.#parts
    const { timers } = this.#machine
    if (hub.home === undefined || this.#loop.signal.aborted || !this.#isDue(interaction)) return
    await new Promise<void>(resolve => {
      const timer = timers.after(FIRST_ANSWER_MS, resolve)
      this.#waiting.set(interaction, () => {
        timers.clear(timer)
        resolve()
      })
      waker.wake()
    })
    this.#waiting.delete(interaction)
  }

  #isDue(interaction: number): boolean {
    const row = reviewOf(this.#parts.store, interaction)
    return row?.state === 'kept' && row.nextAt <= this.#machine.now()
  }

  async #turn(signal: AbortSignal): Promise<number> {
    for (const row of dueReviews(this.#parts.store, this.#machine.now(), DUE_MAX)) {
      if (signal.aborted) break
      await this.#attempt(row).finally(() => this.#waiting.get(row.interaction)?.())
    }
    return this.#pauseMs()
  }

  #pauseMs(): number {
    const next = nextReviewAt(this.#parts.store)
    return next === undefined ? ROUND_MS : Math.min(Math.max(next - this.#machine.now(), 1000), ROUND_MS)
  }

  async #attempt(row: ReviewRow): Promise<void> {
    const now = this.#machine.now()
    if (now >= row.until) return this.#settle(row, 'refused', ownReason(SAYS.late))
    const hub = this.#parts.hub.home
    if (hub === undefined) return this.#postpone(row, ownReason(SAYS.noHub), now + RETRY_MS)
    if (hub.openReviews !== undefined) return await this.#attemptOpen(row, hub, hub.openReviews)
    const upload = this.#uploadOf(row)
    if (upload === undefined) return this.#settle(row, 'refused', ownReason(SAYS.incomplete))
    const answer = await this.#upload(hub, upload).catch((error: unknown) => ({ error }))
    if ('error' in answer) return this.#afterFailure(row, hub, answer.error)
    this.#settle(row, 'uploaded', answer.holds ? noReason : ownReason(SAYS.unattested), answer.attestation)
  }

  async #upload(hub: HubClient, upload: ReviewUpload) {
    const attestation = await hub.uploadReview(upload)
    return { attestation, holds: await attestationHolds(hub, upload, attestation) }
  }

  /** Only what its person lets be published goes there. */
  async #attemptOpen(row: ReviewRow, hub: HubClient, reviews: OpenReviews): Promise<void> {
    if (row.publishes === 0) {
      // looked at all the same: the node may come to a hub that publishes nothing
      const why = { ...ownReason(SAYS.publishes), waitsFor: 'person' } as const
      return this.#postpone(row, why, this.#machine.now() + RETRY_MS)
    }
    const upload = this.#openUploadOf(row)
    if (upload === undefined) return this.#settle(row, 'refused', ownReason(SAYS.incomplete))
    try {
      await reviews.give(upload)
    } catch (error) {
      return this.#afterFailure(row, hub, error)
    }
    this.#settle(row, 'uploaded', noReason)
  }

  /** Under the present key: one that waited over a rotation is signed anew. */
  #openUploadOf(row: ReviewRow): OpenReviewUpload | undefined {
    const { identity, store, threads } = this.#parts
    const interaction = threads.byKey(row.interaction)
    const { receipt, receiptState, counterSignature } = interaction
    const { request, result } = documentsOf(store, threads, interaction)
    if (receiptState !== 'signed' || receipt === null || counterSignature === null) return undefined
    if (request === undefined || result === undefined) return undefined
    const { rating, comment, ts, receiptDigest } = Review.decode(row.review)
    const body = {
      ...{ v: 1 as const, receiptDigest, rating, comment, ts },
      ...{ reviewer: identity.aid, reviewerKelSeq: identity.log.seq },
    }
    const shared = { receipt: Receipt.decode(receipt), counter: CounterSignature.decode(counterSignature) }
    return {
      receipt: encodeShared(shared),
      review: OpenReview.encode(OpenReview.sign(identity.seed, body)),
      ...{ request, deliverable: result },
    }
  }

  #uploadOf(row: ReviewRow): ReviewUpload | undefined {
    const { receipt, receiptState, counterSignature, rsalt, peer } = this.#parts.threads.byKey(
      row.interaction,
    )
    const provider = this.#parts.peers.find(peer)
    if (
      receiptState !== 'signed' ||
      receipt === null ||
      counterSignature === null ||
      rsalt === null ||
      provider === undefined
    )
      return undefined
    const reviewable = encodeReviewable({
      receipt: Receipt.decode(receipt),
      counter: CounterSignature.decode(counterSignature),
      providerKel: [...provider.log.events],
    })
    return { receipt: reviewable, review: row.review, rsalt }
  }

  #afterFailure(row: ReviewRow, hub: HubClient, error: unknown): void {
    const now = this.#machine.now()
    if (!(error instanceof Refused)) this.#postpone(row, reasonOfHub(describe(error)), now + RETRY_MS)
    // The answer to an earlier upload may have been lost on its way.
    else if (error.code === 'review_exists') this.#settle(row, 'uploaded', reasonOfHub(error.code))
    else if (FINAL_CODES.has(error.code)) this.#settle(row, 'refused', reasonOfHub(error.code))
    else {
      const probation = error.code === 'probation' ? (hub.probationUntilMs ?? now + PROBATION_RETRY_MS) : 0
      this.#postpone(
        row,
        reasonOfHub(error.code),
        Math.max(probation, now + (error.retryAfterMs ?? RETRY_MS)),
      )
    }
  }

  #postpone(row: ReviewRow, { waitsFor = null, ...why }: Postponed, nextAt: number): void {
    postponeReview(this.#parts.store, row.interaction, { ...why, waitsFor, nextAt })
  }

  #settle(
    row: ReviewRow,
    state: 'uploaded' | 'refused',
    why: Why,
    attestation: Uint8Array | null = null,
  ): void {
    concludeReview(this.#parts.store, row.interaction, { state, ...why, attestation })
    this.#machine.log.info({ state, reason: why.reason }, 'review')
  }
}

/** Whether the hub's own key attests this very review of this very receipt. */
async function attestationHolds(hub: HubClient, upload: ReviewUpload, encoded: Uint8Array): Promise<boolean> {
  try {
    const attestation = Attestation.decode(encoded)
    const { body } = attestation
    await learnHubKey(hub, body.hubSeq)
    const { log, aid } = hub.identity
    const key = body.hub === aid ? keyAt(log, body.hubSeq) : undefined
    return (
      key !== undefined &&
      equal(body.reviewHash, receiptBodyHash(upload.review)) &&
      equal(body.receiptDigest, Review.decode(upload.review).receiptDigest) &&
      Attestation.verify(key, attestation)
    )
  } catch {
    return false
  }
}
