/**
 * Ratings: one that is given before its receipt is there is kept, and signed off as a review together with the receipt.
 * Every function that writes runs inside a transaction.
 */
import type { InteractionSummary } from '../../protocol/control/shapes.ts'
import { cidText, contentId } from '../../protocol/crypto/hash.ts'
import { Receipt, Review, receiptDigest } from '../../protocol/proof/receipt.ts'
import type { Waker } from '../platform/waker.ts'
import { refuse } from '../refusal.ts'
import type { Store } from '../store/open.ts'
import { dropRating, keepRatingRow, type RatingRow, ratingOf } from '../store/ratings.ts'
import { keepReviewRow, publishReview, type ReviewRow, reviewOf } from '../store/reviews.ts'
import type { Interaction } from '../store/threads.ts'

/** `publish`: a hub that shows reviews with task and answer may do so. */
export type Rating = Pick<RatingRow, 'rating' | 'comment'> & { publish?: boolean | undefined }

const REVIEW_WINDOW_MS = 30 * 86_400_000
const UNDERWAY = 'on its way to the hub'
const WITHOUT_RECEIPT: readonly string[] = ['declined', 'cancelled', 'failed']

export class Ratings {
  readonly #store: Store
  readonly #uploads: Waker
  readonly #now: () => number

  /** `uploads`: what brings reviews to the hub. */
  constructor(store: Store, uploads: Waker, now: () => number) {
    this.#store = store
    this.#uploads = uploads
    this.#now = now
  }

  /** Signs a review of a task whose receipt both sides signed; the first stays, and the same again is the same. */
  sign(interaction: Interaction, { rating, comment, publish = false }: Rating): void {
    const store = this.#store
    const earlier = reviewOf(store, interaction.key)
    if (earlier !== undefined) {
      if (earlier.rating !== rating || commentOf(earlier) !== comment)
        refuse('wrong_state', 'this task is already reviewed')
      if (publish) this.#publish(interaction)
      return
    }
    const receipt = Receipt.decode(interaction.receipt as Uint8Array)
    const now = this.#now()
    const review = Review.encode({
      v: 1,
      receiptDigest: receiptDigest(receipt.bodyBytes),
      rating: rating as 1 | 2 | 3 | 4 | 5,
      comment,
      ts: now,
    })
    keepReviewRow(store, {
      interaction: interaction.key,
      rating,
      review,
      cid: cidText(contentId(review)),
      reason: UNDERWAY,
      reasonBy: 'node',
      nextAt: now,
      until: receipt.body.end + REVIEW_WINDOW_MS,
      publishes: publish ? 1 : 0,
    })
    dropRating(store, interaction.key)
    store.afterCommit(() => this.#uploads.wake())
  }

  #publish({ key }: Interaction): void {
    const store = this.#store
    publishReview(store, key, this.#now())
    store.afterCommit(() => this.#uploads.wake())
  }

  /** A review where the receipt is there, else a rating that waits for it in place of an earlier one. */
  keep(interaction: Interaction, given: Rating): void {
    const { rating, comment } = given
    if (interaction.side !== 'sent') refuse('wrong_state', 'only who delegated a task can review it')
    if (WITHOUT_RECEIPT.includes(interaction.state))
      refuse('wrong_state', `this interaction is ${interaction.state}; without a receipt it takes no rating`)
    if (isSigned(interaction)) this.sign(interaction, given)
    else keepRatingRow(this.#store, { interaction: interaction.key, rating, comment })
  }

  /** The receipt is signed: a rating that waited for it becomes a review. */
  signKept(interaction: Interaction): void {
    const kept = ratingOf(this.#store, interaction.key)
    if (kept !== undefined) this.sign(interaction, kept)
  }
}

const commentOf = ({ review }: Pick<ReviewRow, 'review'>): string => Review.decode(review).comment

/** Whether both sides signed the receipt that is held. */
export const isSigned = ({ receipt, receiptState }: Interaction): boolean =>
  receipt !== null && receiptState === 'signed'

/** How a rating that waits for its receipt stands, for listings. */
export function keptRating(
  store: Store,
  interaction: Interaction,
): Required<Pick<InteractionSummary, 'rating' | 'review'>> | undefined {
  const kept = ratingOf(store, interaction.key)
  if (kept === undefined) return undefined
  return { rating: kept.rating, review: { uploaded: false, reason: whyNotSigned(interaction) } }
}

function whyNotSigned({ state, receiptState }: Interaction): string {
  if (WITHOUT_RECEIPT.includes(state)) return `dropped: the task is ${state}, so there is no receipt to rate`
  if (receiptState === 'disputed') return 'kept, and not signed: the receipt does not hold'
  if (receiptState === 'none') return 'kept, and not signed: the provider signs no receipt'
  return 'kept: it is signed and goes to the hub once both sides have signed the receipt'
}
