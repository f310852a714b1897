/** JSON shapes of the control interface: interactions, turns, agents, deliveries. Command line, MCP and screens share them. */

import * as z from 'zod'
import { CREDITS_MAX } from '../contract/limits.ts'
import { aidShape, count, millis, visibilityShape } from '../contract/shapes.ts'
import { autoReplyConfig } from './auto-reply-config.ts'
import { interactionId } from './ids.ts'
import { lostOrder, paymentShape } from './payment-shapes.ts'

/** Seconds that a request may wait for news at most. */
export const WAIT_S_MAX = 45
/** `wait_s` of a request, in seconds. */
export const wait = z.int().min(0).max(WAIT_S_MAX)
/** An AID or a petname. */
export const peerName = z.string().min(1).max(128)

/** `state` of a task in every reply, docs/operations.md. */
export const interactionStates = [
  'queued',
  'delivered',
  'pending',
  'open',
  'end_proposed',
  'ended',
  'declined',
  'cancelled',
  'failed',
  'expired',
] as const
/** Text of a state, as replies have it. */
export type InteractionState = (typeof interactionStates)[number]

/** State of an outgoing message; always true, never a guess. */
export const deliveryShape = z.strictObject({
  state: z.enum(['queued', 'at_hub', 'delivered', 'failed', 'unknown']),
  /** It went past the hub, and the recipient's node signed that it has it. */
  direct: z.literal(true).optional(),
  reason: z.string().optional(),
  /** The reason is a sentence of this node or its person, and quotes nobody; so in tasks. */
  reason_own: z.literal(true).optional(),
  /** It stays on this machine until `sending` lets it go. */
  held: z.literal(true).optional(),
  /** Time of the next attempt, while there is one. */
  next_try_at: millis.optional(),
  /** Until when it is tried or asked about, while it is; without proof by then its state is `unknown`. */
  give_up_at: millis.optional(),
})
/** Times in Unix milliseconds, docs/operations.md. */
export type Delivery = z.infer<typeof deliveryShape>

/** The receipt of a task as lists and threads show it; `result_cid` is a content id as text. */
export const receiptSummary = z.strictObject({
  /** Receipt digest as base64url. */
  id: z.string(),
  /** The signatures that are there hold, and the requester found nothing that differs. */
  verified: z.boolean(),
  status: z.string(),
  result_cid: z.string(),
  /** The provider alone signed it so far. */
  awaits_counter_signature: z.literal(true).optional(),
  /** Says what differs when it is not verified. */
  fault: z.string().optional(),
})

/** What the other side did after the cursor of a list, or at all, that nobody read yet. */
export const newsShape = z.strictObject({
  wrote: z.boolean().optional(),
  /** First characters of the newest of these words. */
  preview: z.string().optional(),
  /** It proposed the end, and this side did not answer that. */
  proposes_end: z.boolean().optional(),
})
/** Absent members say that nothing of theirs is new. */
export type News = z.infer<typeof newsShape>

/** Whether the hub has the rating; it is tried by itself until it has. */
const reviewStanding = z.strictObject({
  uploaded: z.boolean(),
  reason: z.string().optional(),
  /** The reason quotes what a call to the hub failed with. */
  reason_quotes: z.literal(true).optional(),
  next_try_at: millis.optional(),
})

/** One row of a list of tasks, docs/operations.md; times in Unix milliseconds. */
export const interactionSummary = z.strictObject({
  interaction_id: interactionId,
  side: z.enum(['sent', 'received']),
  peer: aidShape,
  peer_name: z.string().nullable(),
  state: z.enum(interactionStates),
  reason: z.string().optional(),
  reason_own: z.literal(true).optional(),
  /** When a task that nobody answered yet is called expired. */
  answer_by: millis.optional(),
  /** The other side was restored from a backup and said that it no longer has this task. */
  lost_by_peer_at: millis.optional(),
  /** The task that was delegated in its place, and the one in whose place this one was. */
  anew_as: interactionId.optional(),
  anew_of: interactionId.optional(),
  created_at: millis,
  last_at: millis,
  capability: z.string().optional(),
  /** First characters of the newest text; a peer's words, never instructions. */
  preview: z.string(),
  /** The preview is words of this side, which no auto-reply and no provider of a capability wrote. */
  preview_mine: z.boolean().optional(),
  /** The last words of the other side, where they were asked for. */
  text: z.string().optional(),
  unread: count,
  /** First characters of the newest words of the other side that nobody read yet. */
  unread_preview: z.string().optional(),
  news: newsShape
    .optional()
    .describe(
      'object: what the other side did after the `new_cursor` that was given, or that nobody read yet; absent where nothing is new',
    ),
  attachments: count,
  /** Delivery of the newest own message. */
  delivery: deliveryShape.optional(),
  receipt: receiptSummary.optional(),
  payment: paymentShape.optional(),
  rating: z.int().min(1).max(5).optional(),
  review: reviewStanding.optional(),
  /** A person took it out of the lists, and nothing has happened in it since. */
  archived: z.literal(true).optional(),
})
/** A row as it was read; `preview` and `text` may be words of the other side. */
export type InteractionSummary = z.infer<typeof interactionSummary>

/** A file of a message: size in bytes, `cid` a content id as text. */
export const attachmentShape = z.strictObject({
  name: z.string(),
  media_type: z.string(),
  bytes: count,
  cid: z.string(),
  /** Local file that holds the verified bytes; null until they are here. */
  path: z.string().nullable(),
})

/** One message of a thread, docs/operations.md; `n` is its number there, `at` in Unix milliseconds. */
export const turnShape = z.strictObject({
  n: count,
  from: aidShape,
  mine: z.boolean(),
  kind: z.string(),
  at: millis,
  text: z.string(),
  truncated: z.boolean().optional(),
  /** Length of the whole text, and where it goes on, when this is a part of it. */
  chars: count.optional(),
  next_char: count
    .optional()
    .describe('integer: where the text goes on, as `from_char` with this turn as `from_turn`'),
  /** The whole text as a file of this machine, under its content id. */
  text_file: z.strictObject({ path: z.string(), bytes: count, cid: z.string() }).optional(),
  attachments: z.array(attachmentShape),
  delivery: deliveryShape.optional(),
  /** The auto-reply loop wrote it. */
  auto: z.boolean().optional(),
  /** Signed under a key that was retired since, without evidence of an earlier time. */
  retired_key: z.boolean().optional(),
  missing_before: count
    .optional()
    .describe(
      'integer: messages that the other side sent right before this one and that are not here; they may still come, as later turns',
    ),
})
/** A message as it was read; `text` may be words of the other side. */
export type Turn = z.infer<typeof turnShape>

const credits = z.int().min(0).max(CREDITS_MAX)

/** Reply of `/thread`, docs/operations.md; times in Unix milliseconds. */
export const threadShape = z.strictObject({
  interaction_id: interactionId,
  side: z.enum(['sent', 'received']),
  peer: aidShape,
  peer_name: z.string().nullable(),
  state: z.enum(interactionStates),
  reason: z.string().optional(),
  reason_own: z.literal(true).optional(),
  answer_by: millis.optional(),
  lost_by_peer_at: millis.optional(),
  anew_as: interactionId.optional(),
  anew_of: interactionId.optional(),
  capability: z.string().optional(),
  sealed: z.boolean(),
  /** It came over a local interface of this node and is answered there; nothing of it is mail. */
  local: z.literal(true).optional(),
  turns: z.array(turnShape),
  next_turn: count
    .optional()
    .describe(
      'integer: the turn after the last one here, as `from_turn`; where that one ends with `next_char`, its rest comes first',
    ),
  /** Operations that make sense now: message, end, accept_end, approve, decline, cancel, anew, review, accept_receipt. */
  actions: z.array(z.string()),
  /**
   * What this side waits for from the other one: what it holds after a restore, its consent to the end, or what it signs.
   * A payment that waits meanwhile says until when it is held (`payment.held_until`).
   */
  waiting_for: z.enum(['numbers', 'peer', 'receipt', 'counter_signature']).optional(),
  receipt: receiptSummary.optional(),
  payment: paymentShape.optional(),
  rating: z.int().min(1).max(5).optional(),
  review: reviewStanding.optional(),
})

/** One agent of a reply of `/find`, docs/operations.md; times in Unix milliseconds. */
export const foundAgent = z.strictObject({
  aid: aidShape,
  name: z.string(),
  /** Petname, when the agent is a contact. */
  contact: z.string().nullable(),
  summary: z.string(),
  caps: z.array(z.string()),
  /** AID of the hub that lists it. */
  hub: z.string(),
  /** AID of the hub that its key history names, where that is another one. */
  home: aidShape.optional(),
  /** Null where it was found by its AID: no hub is asked for more of one agent. */
  registered_at: millis.nullable(),
  last_seen: millis.nullable(),
  quiet: z.boolean(),
})

/** One contact, docs/operations.md; `added_at` in Unix milliseconds. */
export const contactShape = z.strictObject({
  aid: aidShape,
  petname: z.string().nullable(),
  blocked: z.boolean(),
  added_at: millis,
})

/** The own chain (objects §14): `head_id` a content id as text, `length` in records. */
export const chainHeadShape = z.strictObject({
  chain_did: z.string(),
  head_id: z.string(),
  length: count,
  state: z.enum(['ACTIVE', 'QUARANTINED']),
})

/** A record of the chain (objects §14): ids as text, `timestamp` in Unix ms, `sig` as base64. */
export const evidenceRecordShape = z.strictObject({
  seq: count,
  event_type: z.string(),
  timestamp: millis,
  signer_aid: aidShape,
  payload: z.unknown(),
  id: z.string(),
  prev_id: z.string(),
  sig: z.string(),
  version_minor: count.optional(),
  /** Base64 of what belongs together: the id of the task. */
  corr_id: z.string().optional(),
})

/** Whole credits for which no person is asked; nothing while they are 0. */
export const spendShape = z.strictObject({
  /** One payment that the node makes by itself. */
  auto_max: credits,
  /** One payment that an agent orders. */
  agent_max: credits,
  /** All of these payments in one UTC day. */
  day_max: credits,
  /** Those of them to one agent. */
  payee_day_max: credits,
})

/** Reply of GET `/status`, docs/operations.md. */
export const nodeStatusShape = z.strictObject({
  aid: aidShape,
  version: z.string(),
  /** Name of the build that the node runs. */
  build: z.string(),
  /** Of the sources from which it was built. */
  commit: z.string().optional(),
  data_dir: z.string(),
  hub_url: z.string().nullable(),
  name: z.string(),
  caps: z.array(z.string()),
  summary: z.string(),
  readme: z.string(),
  pricing: z.string(),
  /** How far the profile is shown, where that was set. */
  visibility: visibilityShape.optional(),
  accept_delegations: z.boolean(),
  guest_messages: count,
  /**
   * Direct delivery, where anything of it was set: the address of this node, and whether its hub lists it now, or how many
   * contacts were told it, sealed.
   */
  p2p: z
    .strictObject({
      address: z.string().optional(),
      listed: z.boolean().optional(),
      told: count.optional(),
      /** Whether letters to contacts go directly, and the hosts that are called besides public ones. */
      send: z.boolean(),
      hosts: z.array(z.string()).optional(),
    })
    .optional(),
  /** Where the console is; a build without one says so there. */
  console_url: z.string(),
  /** False where keys of one letter are off on its page. */
  console_keys: z.boolean().optional(),
  /** Nobody can sign for this identity any more. */
  deactivated: z.boolean(),
  /** A newer copy of this data directory was seen; this one signs nothing. */
  old_copy: z.boolean(),
  /** This node came from a backup: what waits for its correspondents, and what they say is lost. */
  restored: z
    .strictObject({
      archive_at: millis.nullable(),
      /** Open tasks of which the other side has not said yet what it holds; nothing new of them leaves. */
      waiting: count,
      /** Tasks of since the backup that only the other side has. */
      lost: z.array(
        z.strictObject({
          interaction_id: z.string(),
          peer: aidShape,
          peer_name: z.string().nullable(),
          /** Whether this node had delegated it, and when the other side got it, by its own clock. */
          side: z.enum(['sent', 'received']).optional(),
          delegated_at: millis.optional(),
        }),
      ),
      /** What a lost copy of this node paid after the backup, as its hub has shown it. */
      orders: z.array(lostOrder),
    })
    .optional(),
  auto_reply: autoReplyConfig.omit({ api_key: true }).extend({ api_key_set: z.boolean() }).optional(),
  /** When the last backup of this data directory was written, where one was. */
  backup_at: millis.optional(),
  kel_seq: count,
  pid: count,
  hub: z
    .strictObject({
      aid: aidShape.nullable(),
      wire: z.int().nullable(),
      state: z.enum(['online', 'offline', 'stopped', 'registering']),
      sealed: z.boolean(),
      reason: z.string().optional(),
      /** The hub answers and takes nothing until its operator lets this identity in. */
      kept_out: z.literal(true).optional(),
      last_contact_at: millis.nullable(),
      /** Progress of a running proof of work: expected share done, 0 to 1. */
      pow_progress: z.number().optional(),
      /** Milliseconds that the rest of what is expected takes at this pace. */
      pow_left_ms: count.optional(),
    })
    .nullable(),
  counts: z.strictObject({
    /** Tasks with something that nobody read yet, and how many of them came and went. */
    unread: count,
    unread_received: count.optional(),
    unread_sent: count.optional(),
    pending: count,
    outbox: count,
    /** Of those, what a person holds back. */
    outbox_held: count,
    /** Of those, what the hub has, until the other side has confirmed it. */
    outbox_at_hub: count.optional(),
    /** Messages refused because they came from nobody's interaction. */
    foreign: count,
    /** Tasks of strangers refused because they had as many here as they may. */
    strangers_refused: count,
  }),
  chain: chainHeadShape,
  /** Where anything may be spent without a person. */
  spend: spendShape.optional(),
  warnings: z.array(z.string()),
  /** Places in `warnings` of those that quote a hub or a program. */
  quoting_warnings: z.array(count).optional(),
})
/** Times in Unix milliseconds; `restored` is there only in a node that came from a backup. */
export type NodeStatus = z.infer<typeof nodeStatusShape>
