/** Rows as tools show them: the members a model needs, a peer's words fenced, times of ISO 8601. */

import * as z from 'zod'
import { interactionId } from '../protocol/control/ids.ts'
import type { Delivery, InteractionSummary, Turn } from '../protocol/control/shapes.ts'
import { fileName } from '../protocol/encoding/file-names.ts'
import { plainLine } from '../protocol/encoding/plain-text.ts'
import { present } from '../protocol/encoding/present.ts'
import { isCode, type OwnWords, own } from './fence.ts'
import type { ToolContext } from './tool.ts'

export const PREVIEW_CHARACTERS_MAX = 120

export const interactionArgument = z.string().refine(text => interactionId.safeParse(text).success, {
  error: 'expected an interaction_id: 22 characters, as the lists of tasks have it',
})
export const waitArgument = z.int().min(0).max(45).optional()
export const limitArgument = z.int().min(1).max(50).optional()

/** A time as models read it. */
export const iso = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`

export function sayDelivery(
  { state, reason, reason_own: isOwn }: Delivery,
  context: ToolContext,
): string | OwnWords {
  if (reason === undefined) return state
  return own(`${state}(${isOwn === true ? reason : sayCode(reason, context)})`)
}

/** The start of a peer's words, fenced; undefined where there are none. */
export const previewOf = (words: string | undefined, context: ToolContext) =>
  words === undefined ? undefined : context.fence(plainLine(words, PREVIEW_CHARACTERS_MAX))

/** Why a task is as it is: fenced where the other side or a hub says so. */
export function sayReason(
  { reason, reason_own: isOwn }: Pick<InteractionSummary, 'reason' | 'reason_own'>,
  context: ToolContext,
) {
  return reason !== undefined && isOwn === true ? own(reason) : previewOf(reason, context)
}

/** A code stands bare; a sentence may be anybody's. */
export const sayCode = (reason: string, context: ToolContext): string | OwnWords =>
  isCode(reason) ? own(reason) : context.fence(reason)

/** The other side: its AID, and the name that this node's user gave it. */
export const peerOf = ({ peer, peer_name }: Pick<InteractionSummary, 'peer' | 'peer_name'>) => ({
  peer,
  ...present({ peer_name: peer_name === null ? undefined : own(peer_name) }),
})

function sayPreview({ preview, preview_mine: isMine }: InteractionSummary, context: ToolContext) {
  const line = plainLine(preview, PREVIEW_CHARACTERS_MAX)
  return isMine === true ? own(line) : context.fence(line)
}

export function summaryRow(item: InteractionSummary, context: ToolContext): Record<string, unknown> {
  return {
    interaction_id: item.interaction_id,
    // 22 characters have room for words, and a model that lists tasks reads those of strangers
    ...present({ id_chosen_by: item.side === 'received' ? own('peer') : undefined }),
    ...peerOf(item),
    state: item.state,
    ...present({ reason: sayReason(item, context) }),
    last_at: iso(item.last_at),
    ...present({
      answer_by: item.answer_by === undefined ? undefined : iso(item.answer_by),
      capability: previewOf(item.capability, context),
    }),
    preview: sayPreview(item, context),
    ...present({
      unread: item.unread === 0 ? undefined : item.unread,
      attachments: item.attachments === 0 ? undefined : item.attachments,
      delivery: item.delivery === undefined ? undefined : sayDelivery(item.delivery, context),
      receipt: receiptRow(item.receipt, context),
      review: ratingRow(item, context),
    }),
  }
}

/** What the receipt says of the answer; that words cannot be checked by a program takes nothing from the signatures. */
const OUTCOMES: Readonly<Record<string, string>> = {
  OK: 'done_and_measured',
  UNVERIFIED: 'answered_in_words',
  FAILED: 'failed',
  UNAVAILABLE: 'not_available',
  PAYMENT_REQUIRED: 'payment_required',
}

export function receiptRow(receipt: InteractionSummary['receipt'], context: ToolContext) {
  if (receipt === undefined) return undefined
  // nobody reads of valid signatures while one of the two is missing
  const isHalf = receipt.verified && receipt.awaits_counter_signature === true
  return {
    receipt_id: receipt.id,
    ...(isHalf ? { waiting_for: 'counter_signature' } : { signatures_valid: receipt.verified }),
    outcome: OUTCOMES[receipt.status] ?? context.fence(receipt.status),
    ...present({ fault: receipt.fault === undefined ? undefined : own(receipt.fault) }),
  }
}

/** A rating that the hub does not have yet, and why: nothing is left to do for it. */
export function ratingRow(
  { rating, review }: Pick<InteractionSummary, 'rating' | 'review'>,
  context: ToolContext,
) {
  if (review === undefined || review.uploaded) return undefined
  const { reason, reason_quotes: isQuote } = review
  const why = reason === undefined ? undefined : isQuote ? sayCode(reason, context) : own(reason)
  return { rating, uploaded: false, ...present({ reason: why }) }
}

export const fileRow = (
  { name, path, bytes, media_type, cid }: Turn['attachments'][number],
  context: ToolContext,
) => ({
  name: context.fence(fileName(name)),
  path: path === null ? null : own(path),
  bytes,
  media_type: context.fence(plainLine(media_type, 80)),
  cid,
})
