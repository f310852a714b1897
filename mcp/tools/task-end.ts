/** `task_end`: propose or accept the end and rate the work, or withdraw from it. */

import { setTimeout as pause } from 'node:timers/promises'
import * as z from 'zod'
import type { ReplyOf } from '../../protocol/contract/route.ts'
import type { Operations } from '../../protocol/control/operations.ts'
import { present } from '../../protocol/encoding/present.ts'
import { ToolError } from '../errors.ts'
import { own } from '../fence.ts'
import { interactionArgument, ratingRow, receiptRow, sayCode } from '../rows.ts'
import { sends, type ToolContext, tool } from '../tool.ts'

const RECEIPT_WAIT_MS = 10_000
const RECEIPT_POLL_MS = 250
/** Records of one task that are shown, the newest. */
const RECORDS_MAX = 5

const input = z.strictObject({
  interaction_id: interactionArgument.describe('the task'),
  note: z.string().optional().describe('last words, or why it is withdrawn'),
  rating: z.int().min(1).max(5).optional().describe('of the work that I asked for; waits for the receipt'),
  comment: z.string().optional().describe('with rating: public'),
  cancel: z.boolean().optional().describe('withdraw my task, or decline theirs, without a receipt'),
})
type Given = z.infer<typeof input>

export const taskEnd = tool({
  name: 'task_end',
  title: 'End a task, get the receipt, rate it',
  description:
    'End a task: propose the end, or accept what the other agent proposed; then both sign a receipt. `records` are its ids in the evidence chain. outcome answered_in_words: a receipt like any other, for an answer that no program can check.',
  input,
  example: { interaction_id: '<id>' },
  mend({ interaction_id, note, cancel, comment, rating }) {
    if (cancel === true) return { interaction_id, cancel, note }
    return {
      interaction_id,
      note,
      comment,
      rating: rating ?? (comment === undefined ? undefined : '<1 to 5>'),
    }
  },
  output: [
    'state',
    'may_cost',
    'waiting_for',
    'receipt_id',
    'signatures_valid',
    'outcome',
    'fault',
    'records',
    'review_cid',
    'uploaded',
    'reason',
  ],
  annotations: { ...sends, idempotentHint: true },
  async run(args, context) {
    if (args.comment !== undefined && args.rating === undefined)
      throw new ToolError('bad_request', 'a comment goes with a rating')
    if (args.cancel === true) return withdraw(args, context)
    const { interaction_id, rating, comment } = args
    if (rating !== undefined) await requireOwnTask(interaction_id, context)
    const body = { interaction_id, mode: 'either' as const, ...present({ note: args.note, rating, comment }) }
    let reply = await context.call('end', body)
    if (rating !== undefined && !isSigned(reply)) reply = await awaitReceipt(interaction_id, reply, context)
    const review =
      rating === undefined
        ? {}
        : isSigned(reply)
          ? await rate(interaction_id, rating, comment, context)
          : await keptOf(interaction_id, context)
    return {
      state: reply.state,
      ...present({ waiting_for: reply.waiting_for }),
      ...receiptRow(reply.receipt, context),
      records: await recordsOf(interaction_id, context),
      ...review,
    }
  },
})

/** Back out: of one's own task by cancelling it, of somebody else's by declining it. */
async function withdraw(
  { interaction_id, note, rating }: Given,
  context: ToolContext,
): Promise<Record<string, unknown>> {
  if (rating !== undefined) throw new ToolError('bad_request', 'a task that is cancelled gets no rating')
  const thread = await context.call('thread', { interaction_id, max_chars: 1, mark_read: false })
  const body = { interaction_id, ...present({ reason: note }) }
  if (thread.side !== 'sent') return { state: (await context.call('decline', body)).state }
  const { state, may_cost } = await context.call('cancel', body)
  return { state, ...present({ may_cost }) }
}

/** Refuses a rating that could not be given, before anything is ended. */
async function requireOwnTask(interaction_id: string, context: ToolContext): Promise<void> {
  const { side } = await context.call('thread', { interaction_id, max_chars: 1, mark_read: false })
  if (side !== 'sent')
    throw new ToolError('wrong_state', 'only who delegated a task rates it, and this one came from outside')
}

type ReviewReply = NonNullable<ReplyOf<Operations['review']>>
type EndReply = NonNullable<ReplyOf<Operations['end']>>

const isSigned = ({ receipt }: EndReply): boolean =>
  receipt?.verified === true && receipt.awaits_counter_signature !== true

/** How the node keeps a rating whose receipt is not there yet. */
async function keptOf(interaction_id: string, context: ToolContext) {
  const thread = await context.call('thread', { interaction_id, max_chars: 1, mark_read: false })
  const { uploaded, reason } = ratingRow(thread, context) ?? {}
  return present({ uploaded, reason })
}

/** A receipt usually follows the end within a second; a rating given with the end should not need a second call. */
async function awaitReceipt(id: string, reply: EndReply, context: ToolContext): Promise<EndReply> {
  for (let waited = 0; waited < RECEIPT_WAIT_MS && !context.signal.aborted; waited += RECEIPT_POLL_MS) {
    const thread = await context.call('thread', { interaction_id: id, max_chars: 1, mark_read: false })
    const { receipt } = thread
    if (receipt !== undefined && (isSigned({ ...reply, receipt }) || receipt.fault !== undefined)) {
      const { waiting_for: _, ...rest } = reply
      return { ...rest, state: thread.state, receipt }
    }
    if (thread.state !== 'end_proposed' && thread.state !== 'ended') break
    await pause(RECEIPT_POLL_MS)
  }
  return reply
}

/** What this node's chain holds of the task, newest first. */
async function recordsOf(interaction_id: string, context: ToolContext) {
  const { records } = await context.call('evidence', { interaction_id, limit: RECORDS_MAX })
  return records.reverse().map(({ seq, event_type, id }) => ({ seq, event_type, id }))
}

/** Why the hub does not have it: in words of this node, or in those with which a call to the hub failed. */
const reasonOf = ({ reason, reason_quotes: isQuote }: ReviewReply, context: ToolContext) =>
  reason === undefined ? undefined : isQuote ? sayCode(reason, context) : own(reason)

async function rate(id: string, rating: number, comment: string | undefined, context: ToolContext) {
  const body = { interaction_id: id, rating, ...present({ comment }) }
  const review = await context.call('review', body)
  return {
    ...present({ review_cid: review.review_cid }),
    uploaded: review.uploaded,
    ...present({ reason: reasonOf(review, context) }),
  }
}
