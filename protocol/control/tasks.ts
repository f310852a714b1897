/** Operations on tasks: delegate, talk, end, and what proves it. */
import * as z from 'zod'
import { COMMENT_BYTES_MAX, REASON_BYTES_MAX } from '../contract/limits.ts'
import { aidShape, capTag, count, millis, textShape } from '../contract/shapes.ts'
import { FILES_MAX } from './console.ts'
import { interactionId } from './ids.ts'
import {
  byInteraction,
  LONG_MS,
  operation,
  PAGE_MAX,
  paging,
  TEXT_BODY_BYTES,
  text,
  wholeText,
} from './operation.ts'
import { paymentShape } from './payment-shapes.ts'
import {
  attachmentShape,
  deliveryShape,
  interactionStates,
  interactionSummary,
  peerName,
  receiptSummary,
  threadShape,
  WAIT_S_MAX,
  wait,
} from './shapes.ts'
import { verifyShape } from './verify-shape.ts'

const summaries = z.strictObject({
  items: z.array(interactionSummary),
  next_cursor: z.string().optional().describe('text: as `cursor`, where older rows go on'),
  new_cursor: z
    .string()
    .describe(
      'text: as `cursor`, lists what the other sides did after this reply, in whatever state it is, and with `wait_s` waits for it; a task that moves while its list is read page by page leaves the pages, so keep that of the first page, and follow `/events` for what other clients of this node do',
    ),
})
/** A filter of a list: every word, in a message by its beginning, else anywhere in name, address, id, capability, state, first words. */
const filterWords = z
  .string()
  .max(256)
  .describe(
    'text of at most 256 characters: up to 16 words that a task must hold in a message, name, address, id, capability or state',
  )
const NEEDS = 'boolean: only what waits for a yes of this side: a stranger, or a price'
const ARCHIVED =
  'boolean: only what was taken out of the lists; without it a list leaves that out, unless it is searched by words'
const paths = z.array(z.string().min(1)).max(FILES_MAX)
const stateReply = z.strictObject({ interaction_id: interactionId, state: z.enum(interactionStates) })
const cancelReply = stateReply.extend({
  /** What its provider takes where the work had begun, of the credits that are held for it. */
  may_cost: count.optional(),
})
const endReply = z.strictObject({
  interaction_id: interactionId,
  state: z.enum(interactionStates),
  waiting_for: z.enum(['peer', 'receipt', 'counter_signature']).optional(),
  receipt: receiptSummary.optional(),
})

/** Rows of tasks, lists and files; docs/operations.md has their members and codes. */
export const taskOperations = {
  delegate: operation('/delegate', {
    reads: false,
    timeoutMs: LONG_MS,
    request: z
      .strictObject({
        to: peerName,
        task: text.optional(),
        attach: paths.optional(),
        capability: capTag.optional(),
        args: z.record(z.string(), z.json()).optional(),
        pay: z.boolean().optional(),
        /** Without it a person pays no more than the same cost before, or than they were told when they asked. */
        max_credits: count.optional(),
        /** Who asks, or orders the payment: a person unless an agent does, which has less to spend and shows no price to a person. */
        pay_as: z.enum(['person', 'agent']).optional(),
        idempotency_key: z.string().min(1).max(128).optional(),
        wait_s: wait.optional(),
      })
      .refine(({ task, capability }) => (task === undefined) !== (capability === undefined), {
        message: 'expected either a task or a capability',
      })
      .refine(({ args, capability }) => args === undefined || capability !== undefined, {
        message: 'expected a capability with args',
      })
      .refine(({ attach, task }) => (attach ?? []).length === 0 || task !== undefined, {
        message: 'expected a task with attachments',
      }),
    reply: z.strictObject({
      interaction_id: interactionId,
      state: z.enum(interactionStates),
      delivery: deliveryShape.optional(),
      effect: z.unknown().optional(),
      payment_required: z.unknown().optional(),
      payment: paymentShape.optional(),
      /** What keeps it from leaving this machine. */
      warning: z.string().optional(),
      next: z.string(),
    }),
    codes: ['unknown_peer', 'idempotency_conflict', 'file_unreadable', 'too_large', 'no_hub', 'no_credits'],
    limits: { bodyBytes: TEXT_BODY_BYTES },
  }),
  inbox: operation('/inbox', {
    reads: true,
    request: z.strictObject({
      /** Only what waits for approval. */
      pending: z.boolean().optional(),
      unfinished: z
        .boolean()
        .optional()
        .describe(
          'boolean: only what is `pending`, `open` or `end_proposed`, where this side has something to do',
        ),
      q: z.string().max(256).optional(),
      words: filterWords.optional(),
      needs: z.boolean().optional().describe(NEEDS),
      archived: z.boolean().optional().describe(ARCHIVED),
      wait_s: wait.optional(),
      pull: z
        .boolean()
        .optional()
        .describe('boolean: where the hub is not connected, mail is looked for first, for 5 seconds at most'),
      ...paging,
    }),
    reply: summaries,
  }),
  interactions: operation('/interactions', {
    reads: true,
    /** Those of them that there are, in the form of the lists, on either side. */
    request: z.strictObject({ interaction_ids: z.array(interactionId).min(1).max(50) }),
    reply: z.strictObject({ items: z.array(interactionSummary) }),
  }),
  search: operation('/search', {
    reads: true,
    request: z.strictObject({
      /** All of them, in whatever order; one that ends with a star begins so. */
      words: z.string().min(1).max(256),
      /** Only in this task. */
      interaction_id: interactionId.optional(),
      ...paging,
    }),
    reply: z.strictObject({
      /** Messages of both sides, the newest first. */
      matches: z.array(
        z.strictObject({
          interaction_id: interactionId,
          side: z.enum(['sent', 'received']),
          peer: aidShape,
          peer_name: z.string().nullable(),
          from: aidShape,
          mine: z.boolean(),
          /** Its number in the thread. */
          turn: count,
          at: millis,
          /** The part in which the words stand. */
          text: z.string(),
        }),
      ),
      next_cursor: z.string().optional(),
    }),
  }),
  results: operation('/results', {
    method: 'GET',
    reads: true,
    query: z.strictObject({
      ended: z.enum(['true', 'false']).optional(),
      /** Adds to each task the last words of the other side. */
      texts: z.enum(['true', 'false']).optional(),
      words: filterWords.optional(),
      needs: z.enum(['true', 'false']).optional().describe(NEEDS.replace('boolean', '`true` or `false`')),
      archived: z
        .enum(['true', 'false'])
        .optional()
        .describe(ARCHIVED.replace('boolean', '`true` or `false`')),
      limit: wholeText(1, PAGE_MAX).optional(),
      cursor: z.string().max(64).optional(),
      wait_s: wholeText(0, WAIT_S_MAX).optional(),
    }),
    reply: summaries,
  }),
  thread: operation('/thread', {
    reads: true,
    request: byInteraction.extend({
      from_turn: count.optional(),
      /** From the last words of the other side on, unless from_turn says another turn. */
      answer: z.boolean().optional(),
      /** Where the text of the first turn goes on. */
      from_char: count.optional(),
      /** How much is given of the own words of each turn. */
      own_chars: z.int().min(1).max(1_000_000).optional(),
      /** Saves long texts of the other side as files of this machine. */
      text_files: z.boolean().optional(),
      max_chars: z.int().min(1).max(1_000_000).optional(),
      wait_s: wait.optional(),
      mark_read: z
        .boolean()
        .optional()
        .describe(
          'boolean: `false` leaves it unread; otherwise a reply that reaches the last turn marks all of it as read',
        ),
      /** A person reads it: a price in it counts as known to them. */
      to_person: z.boolean().optional(),
    }),
    reply: threadShape,
    codes: ['unknown_interaction'],
  }),
  message: operation('/message', {
    reads: false,
    timeoutMs: LONG_MS,
    request: byInteraction.extend({
      text: text.optional(),
      file: z.string().optional(),
      attach: paths.optional(),
      idempotency_key: z.string().min(1).max(128).optional(),
    }),
    reply: z.strictObject({
      interaction_id: interactionId,
      message_id: z.string(),
      /** Its number in the thread. */
      turn: count,
      state: z.enum(interactionStates),
      delivery: deliveryShape,
      warning: z.string().optional(),
    }),
    codes: ['unknown_interaction', 'wrong_state', 'idempotency_conflict', 'file_unreadable', 'too_large'],
    limits: { bodyBytes: TEXT_BODY_BYTES },
  }),
  pull: operation('/pull', {
    reads: false,
    afterEnd: true,
    request: byInteraction.extend({ out: z.string() }),
    reply: z.strictObject({
      interaction_id: interactionId,
      out: z.string(),
      /** A file of the same name and content that lay there before is left as it is. */
      files: z.array(attachmentShape.extend({ already_there: z.boolean().optional() })),
      /** Where the documents that both sides sign were saved, as far as there are any. */
      request_file: z.string().optional(),
      result_file: z.string().optional(),
    }),
    codes: ['unknown_interaction', 'file_unreadable'],
  }),
  /** Where a browser gets the bytes of an attachment, for some minutes. */
  attachmentLink: operation('/attachment/link', {
    reads: true,
    request: byInteraction.extend({
      cid: z.string().regex(/^b[a-z2-7]{1,128}$/, { error: 'expected a content id, such as bafkrei…' }),
    }),
    reply: z.strictObject({ path: z.string(), expires_at: millis }),
    codes: ['unknown_interaction', 'file_unreadable'],
  }),
  end: operation('/end', {
    reads: false,
    /** `either` accepts the peer's proposal when there is one, else proposes. */
    request: byInteraction.extend({
      note: text.optional(),
      /** Of the work, by who asked for it: signed as a review, and uploaded, once the receipt is there. */
      rating: z.int().min(1).max(5).optional(),
      comment: textShape(COMMENT_BYTES_MAX).optional(),
      mode: z.enum(['propose', 'accept', 'either']).optional(),
    }),
    reply: endReply,
    codes: ['unknown_interaction', 'wrong_state'],
    limits: { bodyBytes: TEXT_BODY_BYTES },
  }),
  cancel: operation('/cancel', {
    reads: false,
    request: byInteraction.extend({ reason: textShape(REASON_BYTES_MAX).optional() }),
    reply: cancelReply,
    codes: ['unknown_interaction', 'wrong_state'],
  }),
  /** Whether what a task still has to send leaves this machine, also what is on its way to the hub right now; `on` sends what was given up anew. */
  sending: operation('/sending', {
    reads: false,
    request: byInteraction.extend({ on: z.boolean() }),
    reply: z.strictObject({
      interaction_id: interactionId,
      held: z.boolean(),
      /** Messages that are still on this machine. */
      queued: count,
    }),
    codes: ['unknown_interaction', 'wrong_state'],
  }),
  /** Takes a task out of the lists, or puts it back; nobody is told. Whatever happens in it puts it back as well. */
  archive: operation('/archive', {
    reads: false,
    afterEnd: true,
    request: byInteraction.extend({ on: z.boolean() }),
    reply: z.strictObject({ interaction_id: interactionId, archived: z.boolean() }),
    codes: ['unknown_interaction', 'wrong_state'],
  }),
  /** Delegates a task that its recipient lost with a restore as a new one; the same again is the same new task. */
  anew: operation('/anew', {
    reads: false,
    request: byInteraction,
    reply: stateReply.extend({
      /** The task in whose place it is. */
      anew_of: interactionId,
      /** The previous one was paid for, and the credits are not back: this one is paid by nobody but a person. */
      was_paid: z.literal(true).optional(),
    }),
    codes: ['unknown_interaction', 'wrong_state', 'no_hub', 'identity_deactivated'],
  }),
  approve: operation('/approve', {
    reads: false,
    request: byInteraction.extend({
      /** Pays a price also where nothing of it can come back. */
      unheld: z.boolean().optional(),
      /** Also where a copy of this node that is lost may have paid it. */
      again: z.boolean().optional(),
    }),
    reply: stateReply,
    codes: ['unknown_interaction', 'wrong_state', 'hub_unreachable', 'hub_refused', 'hub_incompatible'],
  }),
  decline: operation('/decline', {
    reads: false,
    request: byInteraction.extend({ reason: textShape(REASON_BYTES_MAX).optional() }),
    reply: stateReply,
    codes: ['unknown_interaction', 'wrong_state'],
  }),
  acceptReceipt: operation('/accept-receipt', {
    reads: false,
    request: byInteraction,
    reply: stateReply,
    codes: ['unknown_interaction', 'wrong_state'],
  }),
  review: operation('/review', {
    reads: false,
    request: byInteraction.extend({
      rating: z.int().min(1).max(5),
      comment: textShape(COMMENT_BYTES_MAX).optional(),
      /** Lets a hub of wire 1 publish the task and its answer with it. */
      publish: z.boolean().optional(),
    }),
    reply: z.strictObject({
      interaction_id: interactionId,
      rating: z.int(),
      /** Absent while the rating waits for the receipt. */
      review_cid: z.string().optional(),
      uploaded: z.boolean(),
      reason: z.string().optional(),
      /** The reason quotes what a call to the hub failed with. */
      reason_quotes: z.literal(true).optional(),
      next_try_at: millis.optional(),
    }),
    codes: ['unknown_interaction', 'wrong_state', 'no_receipt'],
  }),
  verify: operation('/verify', {
    reads: true,
    request: byInteraction,
    reply: verifyShape,
    codes: ['unknown_interaction', 'no_receipt'],
  }),
} as const
