/**
 * The operations of a node, once: the control interface serves this table, and command line, screens and MCP tools are
 * its clients. Members are wire names, because replies are printed as they are.
 */
import * as z from 'zod'
import { BODY_BYTES_DEFAULT, type Given, route } from '../contract/route.ts'
import { aidShape, count, millis } from '../contract/shapes.ts'
import { capTag, visibilityShape } from '../wire3/routes.ts'
import {
  attachmentShape,
  autoReplyConfig,
  chainHeadShape,
  contactShape,
  deliveryShape,
  evidenceRecordShape,
  foundAgent,
  interactionId,
  interactionStates,
  interactionSummary,
  nodeStatusShape,
  peerName,
  receiptSummary,
  threadShape,
  verifyShape,
  wait,
} from './shapes.ts'

export const CONTROL_ADDRESS_DEFAULT = '127.0.0.1:39811'
export const EVIDENCE_LIMIT_MAX = 1000
const TEXT_BODY_BYTES = 2 * 1024 * 1024

export type ControlCode = keyof typeof controlCodes

/** Codes of the control interface: status, and what to do next unless the refusal says better. */
export const controlCodes = {
  bad_request: { status: 400, next: 'svc help' },
  unauthorized: { status: 401, next: 'read control_token.txt of the data directory' },
  forbidden_origin: { status: 403, next: 'use the address that the daemon printed' },
  not_found: { status: 404, next: 'svc help --all' },
  unknown_interaction: { status: 404, next: 'svc inbox, svc results' },
  unknown_peer: { status: 404, next: 'svc find, then svc contact add <aid> <name>' },
  unknown_contact: { status: 404, next: 'svc contact ls' },
  wrong_state: { status: 409, next: 'svc thread <id>' },
  idempotency_conflict: { status: 409, next: 'use another idempotency key for another content' },
  petname_taken: { status: 409, next: 'svc contact rm <name>' },
  too_large: { status: 413, next: 'send less, or several messages' },
  no_hub: { status: 409, next: 'svc hub-register <url>' },
  hub_unreachable: { status: 502, next: 'svc status' },
  hub_refused: { status: 502, next: 'svc status' },
  hub_incompatible: {
    status: 502,
    next: 'svc version; the hub and this node must be of the same release line',
  },
  identity_deactivated: { status: 409, next: 'svc id new <name>' },
  old_copy: { status: 409, next: 'svc status; stop this node before its files are replaced' },
  next_key_missing: { status: 409, next: 'svc id next import' },
  no_auto_reply: { status: 409, next: 'svc autoreply set --agent <tool>' },
  backend_failed: { status: 502, next: 'svc autoreply show, svc logs' },
  no_receipt: { status: 409, next: 'svc thread <id>; both sides must end first' },
  file_unreadable: { status: 400, next: 'check the path' },
  no_credits: { status: 501, next: 'svc version; this release has no payment module' },
  internal: { status: 500, next: 'svc logs' },
} as const satisfies Record<string, { status: number; next: string }>

type Operation = Omit<Given, 'auth' | 'method' | 'path'> & {
  method?: 'GET' | 'POST'
  /** It changes nothing. */
  reads: boolean
  /** It changes something and still makes sense once the identity has ended. */
  afterEnd?: true
  timeoutMs?: number
}

const LONG_MS = 15 * 60_000
/** Paths that the specification names; every other one is our own. */
const documented: readonly string[] = ['/status', '/results', '/shutdown', '/evidence']

function operation<const P extends string, const O extends Operation>(path: P, given: O) {
  const method = given.method ?? 'POST'
  const limits = { bodyBytes: method === 'GET' ? 0 : BODY_BYTES_DEFAULT, ...given.limits }
  const own = documented.includes(path) ? {} : { own: true as const }
  const staysOpen = given.reads || given.afterEnd === true
  const codes = [...(given.codes ?? []), ...(staysOpen ? [] : ['identity_deactivated', 'old_copy'])]
  return {
    ...route({ ...given, ...own, codes, method, path, auth: 'bearer', limits }),
    staysOpen,
    reads: given.reads,
    timeoutMs: given.timeoutMs,
  }
}

const byInteraction = z.strictObject({ interaction_id: interactionId })
const paging = { limit: z.int().min(1).max(50).optional(), cursor: z.string().max(64).optional() }
const summaries = z.strictObject({ items: z.array(interactionSummary), next_cursor: z.string().optional() })
const text = z.string().max(TEXT_BODY_BYTES)
const paths = z.array(z.string().min(1)).max(64)
const stateReply = z.strictObject({ interaction_id: interactionId, state: z.enum(interactionStates) })
const endReply = z.strictObject({
  interaction_id: interactionId,
  state: z.enum(interactionStates),
  waiting_for: z.enum(['peer', 'receipt', 'counter_signature']).optional(),
  receipt: receiptSummary.optional(),
})
const autoReplyView = z.strictObject({
  enabled: z.boolean(),
  auto_reply: autoReplyConfig.omit({ api_key: true }).extend({ api_key_set: z.boolean() }).optional(),
})
const identityReply = z.strictObject({
  aid: aidShape,
  kel_seq: count,
  state: z.string(),
  hub: z.string().optional(),
})

export const operations = {
  status: operation('/status', { method: 'GET', reads: true, reply: nodeStatusShape }),
  shutdown: operation('/shutdown', {
    reads: false,
    afterEnd: true,
    request: z.strictObject({}),
    reply: z.strictObject({ state: z.literal('stopping') }),
  }),

  delegate: operation('/delegate', {
    reads: false,
    timeoutMs: LONG_MS,
    request: z.strictObject({
      to: peerName,
      task: text.optional(),
      attach: paths.optional(),
      capability: capTag.optional(),
      args: z.record(z.string(), z.json()).optional(),
      pay: z.boolean().optional(),
      max_credits: count.optional(),
      idempotency_key: z.string().min(1).max(128).optional(),
      wait_s: wait.optional(),
    }),
    reply: z.strictObject({
      interaction_id: interactionId,
      state: z.enum(interactionStates),
      delivery: deliveryShape.optional(),
      effect: z.unknown().optional(),
      payment_required: z.unknown().optional(),
      next: z.string(),
    }),
    codes: ['unknown_peer', 'idempotency_conflict', 'file_unreadable', 'too_large', 'no_hub', 'no_credits'],
    limits: { bodyBytes: TEXT_BODY_BYTES },
  }),
  inbox: operation('/inbox', {
    reads: true,
    request: z.strictObject({
      pending: z.boolean().optional(),
      q: z.string().max(256).optional(),
      wait_s: wait.optional(),
      pull: z.boolean().optional(),
      ...paging,
    }),
    reply: summaries,
  }),
  results: operation('/results', {
    method: 'GET',
    reads: true,
    query: z.strictObject({
      ended: z.enum(['true', 'false']).optional(),
      limit: z
        .string()
        .regex(/^[0-9]{1,2}$/)
        .optional(),
      cursor: z.string().max(64).optional(),
      wait_s: z
        .string()
        .regex(/^[0-9]{1,2}$/)
        .optional(),
    }),
    reply: summaries,
  }),
  thread: operation('/thread', {
    reads: true,
    request: byInteraction.extend({
      from_turn: count.optional(),
      max_chars: z.int().min(1).max(1_000_000).optional(),
      wait_s: wait.optional(),
      mark_read: z.boolean().optional(),
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
      turn: count,
      state: z.enum(interactionStates),
      delivery: deliveryShape,
    }),
    codes: ['unknown_interaction', 'wrong_state', 'idempotency_conflict', 'file_unreadable', 'too_large'],
    limits: { bodyBytes: TEXT_BODY_BYTES },
  }),
  pull: operation('/pull', {
    reads: false,
    afterEnd: true,
    request: byInteraction.extend({ out: z.string().optional() }),
    reply: z.strictObject({
      interaction_id: interactionId,
      out: z.string(),
      files: z.array(attachmentShape),
    }),
    codes: ['unknown_interaction', 'file_unreadable'],
  }),
  end: operation('/end', {
    reads: false,
    /** `either` accepts the peer's proposal when there is one, else proposes. */
    request: byInteraction.extend({
      note: text.optional(),
      mode: z.enum(['propose', 'accept', 'either']).optional(),
    }),
    reply: endReply,
    codes: ['unknown_interaction', 'wrong_state'],
    limits: { bodyBytes: TEXT_BODY_BYTES },
  }),
  cancel: operation('/cancel', {
    reads: false,
    request: byInteraction.extend({ reason: z.string().max(4096).optional() }),
    reply: stateReply,
    codes: ['unknown_interaction', 'wrong_state'],
  }),
  approve: operation('/approve', {
    reads: false,
    request: byInteraction,
    reply: stateReply,
    codes: ['unknown_interaction', 'wrong_state'],
  }),
  decline: operation('/decline', {
    reads: false,
    request: byInteraction.extend({ reason: z.string().max(4096).optional() }),
    reply: stateReply,
    codes: ['unknown_interaction', 'wrong_state'],
  }),
  review: operation('/review', {
    reads: false,
    request: byInteraction.extend({
      rating: z.int().min(1).max(5),
      comment: z.string().max(4096).optional(),
    }),
    reply: z.strictObject({
      interaction_id: interactionId,
      rating: z.int(),
      review_cid: z.string(),
      uploaded: z.boolean(),
      reason: z.string().optional(),
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

  find: operation('/find', {
    reads: true,
    request: z.strictObject({
      query: z.string().max(256).optional(),
      capability: z.string().max(1024).optional(),
      ...paging,
    }),
    reply: z.strictObject({ agents: z.array(foundAgent), next_cursor: z.string().optional() }),
    codes: ['no_hub', 'hub_unreachable', 'hub_refused', 'hub_incompatible', 'identity_deactivated'],
  }),
  contacts: operation('/contacts', {
    method: 'GET',
    reads: true,
    reply: z.strictObject({ contacts: z.array(contactShape) }),
  }),
  contactAdd: operation('/contact/add', {
    reads: false,
    request: z.strictObject({
      aid: aidShape,
      petname: z.string().regex(/^[\p{L}\p{N}][\p{L}\p{N}._-]{0,63}$/u),
    }),
    reply: contactShape,
    codes: ['petname_taken'],
  }),
  contactRemove: operation('/contact/rm', {
    reads: false,
    request: z.strictObject({ peer: peerName }),
    reply: contactShape,
    codes: ['unknown_contact'],
  }),
  contactBlock: operation('/contact/block', {
    reads: false,
    request: z.strictObject({ peer: peerName, blocked: z.boolean() }),
    reply: contactShape,
    codes: ['unknown_contact'],
  }),

  hubRegister: operation('/hub/register', {
    reads: false,
    timeoutMs: LONG_MS,
    request: z.strictObject({
      url: z.url({ protocol: /^https?$/ }),
      name: z.string().max(64).optional(),
      caps: z.array(capTag).max(64).optional(),
      guest_messages: count.optional(),
      accept_delegations: z.boolean().optional(),
      wire: z.int().min(1).max(3).optional(),
      recovery_phrase: z.string().optional(),
    }),
    reply: z.strictObject({
      status: z.string(),
      hub_url: z.string(),
      hub_aid: aidShape,
      wire: z.int(),
      sealed: z.boolean(),
      keys_status: z.string().optional(),
      card_status: z.string().optional(),
      /** What to know about it, such as a card that the hub did not take. */
      note: z.string().optional(),
      probation_until: millis.optional(),
      trial: z.string().optional(),
    }),
    codes: ['hub_unreachable', 'hub_refused', 'hub_incompatible', 'next_key_missing'],
  }),
  hubLeave: operation('/hub/leave', {
    reads: false,
    request: z.strictObject({ url: z.string().optional() }),
    reply: z.strictObject({ status: z.string(), hub_url: z.string(), current: z.boolean() }),
    codes: ['no_hub', 'hub_unreachable', 'hub_refused', 'hub_incompatible'],
  }),
  accept: operation('/accept', {
    reads: false,
    request: z.strictObject({ on: z.boolean() }),
    reply: z.strictObject({ accept_delegations: z.boolean() }),
  }),
  profileSet: operation('/profile', {
    reads: false,
    request: z.strictObject({
      summary: z.string().max(512).optional(),
      readme: z.string().max(65_536).optional(),
      pricing: z.string().max(4096).optional(),
    }),
    reply: z.strictObject({
      status: z.string(),
      summary: z.string(),
      readme: z.string(),
      pricing: z.string(),
      note: z.string().optional(),
    }),
    codes: ['hub_unreachable', 'hub_refused', 'hub_incompatible'],
    limits: { bodyBytes: 256 * 1024 },
  }),
  visibility: operation('/visibility', {
    reads: false,
    request: z.strictObject({ visibility: visibilityShape }),
    reply: z.strictObject({ visibility: visibilityShape }),
    codes: ['no_hub', 'hub_unreachable', 'hub_refused', 'hub_incompatible'],
  }),
  autoReplyShow: operation('/autoreply', { method: 'GET', reads: true, reply: autoReplyView }),
  autoReplySet: operation('/autoreply/set', {
    reads: false,
    request: autoReplyConfig.partial(),
    reply: autoReplyView,
    limits: { bodyBytes: 256 * 1024 },
  }),
  autoReplyOff: operation('/autoreply/off', {
    reads: false,
    afterEnd: true,
    request: z.strictObject({}),
    reply: autoReplyView,
  }),
  autoReplyTest: operation('/autoreply/test', {
    reads: false,
    timeoutMs: LONG_MS,
    request: z.strictObject({ question: text.optional() }),
    reply: z.strictObject({ backend: z.string(), answer: z.string(), ms: count }),
    codes: ['no_auto_reply', 'backend_failed'],
  }),

  idRotate: operation('/id/rotate', {
    reads: false,
    request: z.strictObject({ recovery_phrase: z.string().optional() }),
    reply: identityReply,
    codes: ['next_key_missing'],
  }),
  idDeactivate: operation('/id/deactivate', {
    reads: false,
    request: z.strictObject({ recovery_phrase: z.string().optional() }),
    reply: identityReply,
    codes: ['next_key_missing'],
  }),

  evidence: operation('/evidence', {
    reads: true,
    request: z.strictObject({
      event_type: z.string().max(128).optional(),
      since: count.optional(),
      limit: z.int().min(1).max(EVIDENCE_LIMIT_MAX).optional(),
    }),
    reply: z.strictObject({
      head: chainHeadShape,
      records: z.array(evidenceRecordShape),
      next_since: count.optional(),
    }),
  }),
  balance: operation('/balance', {
    method: 'GET',
    reads: true,
    reply: z.strictObject({}),
    codes: ['no_credits'],
  }),
} as const

export type Operations = typeof operations
export type OperationName = keyof Operations

/** Routes of the control interface that are no operations: pages, files and the event stream. */
export const controlRoutes = {
  root: route({ method: 'GET', path: '/', auth: 'open' }),
  console: route({ method: 'GET', path: '/console', auth: 'open', produces: 'html' }),
  ping: route({
    method: 'GET',
    path: '/ping',
    auth: 'open',
    reply: z.strictObject({ ok: z.literal(true), aid: aidShape, pid: count, version: z.string() }),
  }),
  attachment: route({
    method: 'GET',
    path: '/attachment',
    auth: 'open',
    produces: 'bytes',
    query: z.strictObject({ cid: z.string(), exp: z.string(), cap: z.string() }),
  }),
  events: route({
    method: 'GET',
    path: '/events',
    auth: 'bearer',
    produces: 'events',
    query: z.strictObject({
      since: z
        .string()
        .regex(/^[0-9]{1,15}$/)
        .optional(),
    }),
    own: true,
  }),
} as const

/** Names of the events on `GET /events`; their payloads hold ids and short summaries, never message text. */
export const eventTypes = [
  'inbox',
  'message',
  'delivery',
  'effect',
  'evidence',
  'autoreply',
  'hub',
  'settings',
  'shutdown',
  'reset',
] as const
export type EventType = (typeof eventTypes)[number]
