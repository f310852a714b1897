/** Ratings: signed off at once, kept, and uploaded by themselves when a hub takes them, within 30 days. */
import { cidText, contentId } from '../protocol/hash.ts'
import { Receipt, Review, receiptDigest } from '../protocol/receipt.ts'
import type { Context } from './context.ts'
import { isRequester } from './conversation.ts'
import { refuse } from './refusal.ts'
import type { Interaction } from './threads.ts'

const REVIEW_WINDOW_MS = 30 * 86_400_000
const FIRST_TRY_MS = 3_600_000

type ReviewReply = {
  interaction_id: string
  rating: number
  review_cid: string
  uploaded: boolean
  reason?: string
  next_try_at?: number
}

/** Keeps a review of a finished interaction; one a task, the first stays. */
export function keepReview(
  ctx: Context,
  interaction: Interaction,
  rating: number,
  comment: string,
): ReviewReply {
  if (!isRequester(interaction)) refuse('wrong_state', 'only who delegated a task can review it')
  if (interaction.receipt === null || interaction.receiptState !== 'signed')
    refuse('no_receipt', 'there is no receipt signed by both sides yet')
  const receipt = Receipt.decode(interaction.receipt)
  const review = Review.encode({
    v: 1,
    receiptDigest: receiptDigest(receipt.bodyBytes),
    rating: rating as 1 | 2 | 3 | 4 | 5,
    comment,
    ts: ctx.now(),
  })
  return ctx.store.transaction(() => {
    const earlier = ctx.store.get('SELECT 1 FROM reviews WHERE interaction = ?', interaction.key)
    if (earlier !== undefined) refuse('wrong_state', 'this task is already reviewed')
    const cid = cidText(contentId(review))
    const nextAt = ctx.now() + FIRST_TRY_MS
    ctx.store.run(
      `INSERT INTO reviews (interaction, rating, review, cid, state, reason, next_at, until)
       VALUES (?, ?, ?, ?, 'kept', ?, ?, ?)`,
      interaction.key,
      rating,
      review,
      cid,
      'the hub takes no reviews yet',
      nextAt,
      receipt.body.end + REVIEW_WINDOW_MS,
    )
    return {
      interaction_id: interaction.id,
      rating,
      review_cid: cid,
      uploaded: false,
      reason: 'the hub takes no reviews yet',
      next_try_at: nextAt,
    }
  }, 'node.review')
}
