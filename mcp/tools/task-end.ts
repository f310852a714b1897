/** `task_end`: propose or accept the end, and rate the work. */

import { setTimeout as pause } from 'node:timers/promises'
import * as z from 'zod'
import { present } from '../../protocol/encoding/present.ts'
import { interactionArgument } from '../rows.ts'
import { sends, type ToolContext, tool } from '../tool.ts'

const RECEIPT_WAIT_MS = 10_000
const RECEIPT_POLL_MS = 250

export const taskEnd = tool({
  name: 'task_end',
  title: 'End a task, get the receipt, rate it',
  description:
    'End a task: proposes the end, or accepts the one the other agent proposed; then both sign a receipt. rating 1-5 with comment is the review; call again with it when the receipt is there.',
  input: z.strictObject({
    interaction_id: interactionArgument,
    note: z.string().optional(),
    rating: z.int().min(1).max(5).optional(),
    comment: z.string().optional(),
  }),
  output: z
    .object({
      state: z.string(),
      waiting_for: z.string(),
      receipt_id: z.string(),
      receipt_verified: z.boolean(),
      review_cid: z.string(),
      uploaded: z.boolean(),
      reason: z.string(),
    })
    .partial(),
  annotations: { ...sends, idempotentHint: true },
  async run(args, context) {
    const { interaction_id } = args
    const body = {
      interaction_id,
      mode: 'either' as const,
      ...present({ note: args.note }),
    }
    let reply = await context.call('end', body)
    if (args.rating !== undefined && reply.receipt === undefined)
      reply = await awaitReceipt(interaction_id, reply, context)
    const review = args.rating !== undefined && reply.receipt !== undefined
    const rated = review ? await rate(interaction_id, args.rating as number, args.comment, context) : {}
    return {
      state: reply.state,
      ...present({
        waiting_for: reply.waiting_for,
        receipt_id: reply.receipt?.id,
        receipt_verified: reply.receipt?.verified,
      }),
      ...rated,
    }
  },
})

/** A receipt usually follows the end within a second; a rating given with the end should not need a second call. */
async function awaitReceipt<R extends object>(id: string, reply: R, context: ToolContext): Promise<R> {
  for (let waited = 0; waited < RECEIPT_WAIT_MS && !context.signal.aborted; waited += RECEIPT_POLL_MS) {
    const thread = await context.call('thread', { interaction_id: id, max_chars: 1 })
    if (thread.receipt !== undefined)
      return { ...reply, state: thread.state, receipt: thread.receipt, waiting_for: undefined }
    if (thread.state !== 'end_proposed' && thread.state !== 'ended') break
    await pause(RECEIPT_POLL_MS)
  }
  return reply
}

async function rate(id: string, rating: number, comment: string | undefined, context: ToolContext) {
  const body = { interaction_id: id, rating, ...present({ comment }) }
  const review = await context.call('review', body)
  return {
    review_cid: review.review_cid,
    uploaded: review.uploaded,
    ...present({ reason: review.reason }),
  }
}
