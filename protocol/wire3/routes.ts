/**
 * The routes of wire 3 (hub API §4.1, §4.2, §4.3, §4.5). What a release removed is not in the table and answers
 * `not_found`; credits and federation come with their own rows.
 */
import * as z from 'zod'
import { route } from '../contract/route.ts'
import { aidShape, blobText, bytesText, count, millis, textShape } from '../contract/shapes.ts'
import { KEL_BYTES_MAX } from '../identity/kel.ts'
import { ENCRYPTION_KEY_BYTES } from '../identity/keyset.ts'
import type { Code } from './codes.ts'
import { ENVELOPE_TYPE } from './headers.ts'

export const STATUS_ITEMS_MAX = 64
export const ACK_ITEMS_MAX = 1000
export const REVOKE_ITEMS_MAX = 1000
export const POLL_LIMIT_MAX = 256
export const LIST_LIMIT_MAX = 100
export const LIST_LIMIT_DEFAULT = 50
export const CAPS_MAX = 64
export const CAP_BYTES_MAX = 64
export const NAME_BYTES_MAX = 64
export const SUMMARY_BYTES_MAX = 512
export const README_BYTES_MAX = 64 * 1024
export const ENVELOPE_BYTES_MAX = 96 * 1024 * 1024
export const DACK_BYTES = 540
const KEY_SET_BYTES_MAX = 8192
const KIB = 1024
const REVIEWABLE_BYTES_MAX = KEL_BYTES_MAX + 80 * 1024
const REVIEW_BYTES_MAX = 8 * 1024
const MIB = 1024 * KIB

const kel = blobText(KEL_BYTES_MAX)
const keys = blobText(KEY_SET_BYTES_MAX)
const notice = blobText(512)
const codes = <C extends Code[]>(...names: C): C => names

/** A capability tag: printable, without spaces and commas; `*` only ends a family in a query. */
export const capTag = z.string().regex(/^[\x21-\x2b\x2d-\x7e]{1,64}$/, {
  error: `must be 1 to ${CAP_BYTES_MAX} printable characters without spaces and commas`,
})
const profile = {
  name: textShape(NAME_BYTES_MAX).optional(),
  caps: z.array(capTag).max(CAPS_MAX).optional(),
  summary: textShape(SUMMARY_BYTES_MAX).optional(),
  readme: textShape(README_BYTES_MAX).optional(),
}

const statusItem = z.strictObject({ rid: z.string(), handle: z.string(), via_hub: aidShape.optional() })
const statusState = z.enum(['queued', 'done', 'unknown'])
export const visibilityShape = z.enum(['hub-local', 'federated', 'public'])

export const agentEntry = z.strictObject({
  aid: aidShape,
  name: z.string(),
  caps: z.array(z.string()),
  summary: z.string(),
  kel,
  keys: keys.nullable(),
  key_state_notice: notice.optional(),
  /** Unix ms, cut to the hour. */
  lastSeen: millis.nullable(),
  /** Unix ms, cut to the day. */
  registered_at: millis,
  quiet: z.boolean(),
})
const rating = z.strictObject({ reviews: count, avg_rating: z.number().nullable() })
const term = z.string().min(1).max(256)
/** A card as its agent signed it; a hub serves none that it has not verified. */
const cardShape = z.record(z.string(), z.unknown())
const agentList = z.strictObject({ agents: z.array(agentEntry), next: z.string().optional() })
const page = {
  limit: z
    .string()
    .regex(/^[0-9]{1,3}$/, { error: `must be a number of 1 to ${LIST_LIMIT_MAX}` })
    .optional(),
  cursor: z.string().max(256).optional(),
}

const registerCodes = codes(
  'admission_required',
  'pow_required',
  'registration_quota',
  'invite_removed',
  'witness_not_this_hub',
  'aid_deactivated',
  'kel_invalid',
  'kel_fork',
  'kel_rollback',
  'kel_ts_out_of_window',
  'keys_rollback',
  'rate_limited',
)

export const wire3Routes = {
  relaySession: route({
    method: 'POST',
    path: '/relay/session',
    auth: 'signed',
    action: 'session',
    unknownSigner: 'admission',
    request: z.strictObject({ epk: bytesText(ENCRYPTION_KEY_BYTES) }),
    reply: z.strictObject({ sid: bytesText(16), exp: millis, enc: blobText(2 * KIB), ct: blobText(KIB) }),
    codes: codes('admission_required', 'rate_limited'),
    limits: { bodyBytes: 4 * KIB },
  }),
  relaySend: route({
    method: 'POST',
    path: '/relay/send',
    auth: 'credential',
    raw: ENVELOPE_TYPE,
    reply: z.strictObject({
      status: z.enum(['queued', 'duplicate']),
      rid: bytesText(16),
      via_hub: aidShape.optional(),
      recipient_quiet: z.boolean(),
    }),
    codes: codes(
      'access_invalid',
      'bad_envelope',
      'bad_exp',
      'expired',
      'kid_stale',
      'mailbox_full',
      'rate_limited',
      'recipient_unknown',
      'redelivery_limited',
      'session_invalid',
      'strangers_busy',
      'too_large_for_stranger',
    ),
    limits: { bodyBytes: ENVELOPE_BYTES_MAX },
  }),
  relayPoll: route({
    method: 'POST',
    path: '/relay/poll',
    auth: 'signed',
    action: 'poll',
    held: true,
    request: z.strictObject({
      limit: z.int().min(1).max(POLL_LIMIT_MAX).optional(),
      after_id: count.optional(),
    }),
    reply: z.strictObject({
      messages: z.array(z.strictObject({ id: count, envelope: z.string(), accepted_at: millis })),
      more: z.boolean(),
      key_state_notice: notice.optional(),
      key_state_notice_error: z.string().optional(),
    }),
    codes: codes('rate_limited'),
    limits: { bodyBytes: KIB },
  }),
  relayAck: route({
    method: 'POST',
    path: '/relay/ack',
    auth: 'signed',
    action: 'ack',
    request: z.strictObject({
      items: z.array(
        z.strictObject({ id: count, handle: z.string().optional(), dack: z.string().optional() }),
      ),
    }),
    reply: z.strictObject({ acked: count, stored: count }),
    itemCode: 'bad_ack_item',
    codes: codes('rate_limited', 'bad_ack_item'),
    limits: { bodyBytes: MIB, items: ACK_ITEMS_MAX },
  }),
  relayStatus: route({
    method: 'POST',
    path: '/relay/status',
    auth: 'anonymous',
    request: z.strictObject({ items: z.array(statusItem) }),
    reply: z.strictObject({
      items: z.array(z.strictObject({ state: statusState, dack: bytesText(DACK_BYTES).optional() })),
    }),
    itemCode: 'bad_status_query',
    codes: codes('bad_status_query', 'rate_limited'),
    limits: { bodyBytes: 16 * KIB, items: STATUS_ITEMS_MAX },
  }),
  mailboxRevoke: route({
    method: 'POST',
    path: '/mailbox/revoke',
    auth: 'signed',
    action: 'revoke',
    request: z.strictObject({ cap_ids: z.array(bytesText(16)).min(1).max(REVOKE_ITEMS_MAX) }),
    reply: z.strictObject({ revoked: count, total: count }),
    codes: codes('rate_limited', 'revocation_list_full'),
    limits: { bodyBytes: 64 * KIB, items: REVOKE_ITEMS_MAX },
  }),

  register: route({
    method: 'POST',
    path: '/register',
    auth: 'signed',
    action: 'register',
    signer: 'core',
    removed: { invite: 'invite_removed' },
    request: z.strictObject({
      aid: aidShape,
      kel,
      ...profile,
      enc_keys: keys.optional(),
      prev_seq: count.optional(),
      a2a_card: z.unknown().optional(),
      pow: z.strictObject({ seed: bytesText(32), nonce: bytesText(8) }).optional(),
      check_only: z.boolean().optional(),
    }),
    reply: z.union([
      z.strictObject({
        status: z.literal('registered'),
        keys_status: z.enum(['none', 'stored', 'unchanged']),
        card_status: z.enum(['none', 'stored', 'unchanged', 'refused']),
        probation_until: millis.optional(),
        trial: z.enum(['pending', 'granted']).optional(),
      }),
      z.strictObject({ status: z.enum(['admitted', 'open']) }),
    ]),
    codes: registerCodes,
    limits: { bodyBytes: MIB },
  }),
  publishKeys: route({
    method: 'POST',
    path: '/agents/{aid}/keys',
    auth: 'signed',
    action: 'keys',
    request: z.strictObject({ keys, prev_seq: count.optional() }),
    reply: z.strictObject({ keys_status: z.enum(['stored', 'unchanged']) }),
    codes: codes('rate_limited', 'keys_rollback', 'kel_invalid'),
    limits: { bodyBytes: 16 * KIB },
  }),
  agentKeys: route({
    method: 'GET',
    path: '/agents/{aid}/keys',
    auth: 'none',
    reply: z.strictObject({ aid: aidShape, keys, kel }),
    codes: codes('rate_limited', 'unknown_aid'),
  }),
  pushKel: route({
    method: 'POST',
    path: '/agents/kel:push',
    auth: 'none',
    request: z.strictObject({ aid: aidShape, kel }),
    reply: z.strictObject({ aid: aidShape, seq: count, head: bytesText(32), unchanged: z.boolean() }),
    codes: codes(
      'unknown_aid',
      'kel_fork',
      'kel_rollback',
      'kel_invalid',
      'kel_ts_out_of_window',
      'rate_limited',
    ),
    limits: { bodyBytes: 512 * KIB },
  }),
  hubIdentity: route({
    method: 'GET',
    path: '/hub/identity',
    auth: 'none',
    reply: z.strictObject({ aid: aidShape, kel, wire: count, dir_max_bits: count }),
    codes: codes('rate_limited'),
  }),
  hubKels: route({
    method: 'GET',
    path: '/hub/kels',
    auth: 'none',
    reply: z.strictObject({ hubs: z.array(z.strictObject({ aid: aidShape, kel })) }),
    codes: codes('rate_limited'),
  }),
  agentKel: route({
    method: 'GET',
    path: '/agents/{aid}/kel',
    auth: 'none',
    reply: z.strictObject({ aid: aidShape, kel, registered: z.boolean() }),
    codes: codes('rate_limited', 'unknown_aid'),
  }),
  directoryBucket: route({
    method: 'POST',
    path: '/directory:bucket',
    auth: 'anonymous',
    request: z.strictObject({ prefix: blobText(32), bits: count, cursor: bytesText(32).optional() }),
    reply: z.strictObject({
      max_bits: count,
      entries: z.array(z.strictObject({ h: bytesText(32), box: z.string() })),
      next: bytesText(32).optional(),
      partial: z.boolean().optional(),
    }),
    codes: codes('bucket_too_narrow', 'rate_limited'),
    limits: { bodyBytes: 4 * KIB },
  }),

  agents: route({
    method: 'GET',
    path: '/agents',
    auth: 'anonymous',
    query: z.strictObject({ cap: z.string().optional(), ...page }),
    reply: agentList,
    codes: codes('rate_limited'),
  }),
  a2aAgents: route({
    method: 'GET',
    path: '/a2a/v1/agents',
    auth: 'anonymous',
    query: z.strictObject({
      q: z.string().max(256).optional(),
      skill: term.optional(),
      tag: term.optional(),
      ...page,
    }),
    reply: z.strictObject({
      agents: z.array(agentEntry.extend({ card: cardShape.optional() })),
      next: z.string().optional(),
    }),
    codes: codes('rate_limited'),
  }),
  agent: route({
    method: 'GET',
    path: '/agents/{aid}',
    auth: 'none',
    reply: agentEntry.extend({ readme: z.string(), visibility: visibilityShape }),
    codes: codes('rate_limited', 'unknown_aid'),
  }),

  a2aCard: route({
    method: 'GET',
    path: '/a2a/v1/agents/{aid}/card',
    auth: 'none',
    reply: cardShape,
    codes: codes('rate_limited', 'unknown_aid'),
  }),
  cardKeys: route({
    method: 'GET',
    path: '/agents/{aid}/jwks.json',
    auth: 'none',
    reply: z.strictObject({
      keys: z.array(
        z.strictObject({
          kty: z.literal('OKP'),
          crv: z.literal('Ed25519'),
          x: bytesText(32),
          kid: z.string(),
          alg: z.literal('EdDSA'),
          use: z.literal('sig'),
        }),
      ),
    }),
    codes: codes('rate_limited', 'unknown_aid'),
  }),
  aiCatalog: route({
    method: 'GET',
    path: '/.well-known/ai-catalog.json',
    auth: 'none',
    own: true,
    reply: z.strictObject({
      specVersion: z.literal('1.0'),
      host: z.strictObject({ displayName: z.string(), identifier: z.string() }),
      entries: z.array(
        z.strictObject({
          identifier: z.string(),
          displayName: z.string(),
          mediaType: z.string(),
          url: z.string(),
          tags: z.array(z.string()),
        }),
      ),
    }),
    codes: codes('rate_limited'),
  }),
  reputation: route({
    method: 'GET',
    path: '/agents/{aid}/reputation',
    auth: 'none',
    reply: z.strictObject({
      aid: aidShape,
      local: rating,
      peers: z.array(rating.extend({ hub: aidShape })),
      combined: rating,
      /** Share of the reviewer with the most reviews, 0 to 1. */
      concentration: z.number(),
      distinct_reviewers: count,
      note: z.string(),
    }),
    codes: codes('rate_limited', 'unknown_aid'),
  }),
  graph: route({
    method: 'GET',
    path: '/graph',
    auth: 'none',
    reply: z.strictObject({
      nodes: z.array(
        z.strictObject({
          aid: aidShape,
          name: z.string(),
          caps: z.array(z.string()),
          registered: z.boolean(),
        }),
      ),
      /** Who reviewed whom is nobody's business: always empty. */
      edges: z.array(z.never()),
    }),
    codes: codes('rate_limited'),
  }),
  uploadReview: route({
    method: 'POST',
    path: '/reviews',
    auth: 'signed',
    action: 'review',
    request: z.strictObject({
      receipt: blobText(REVIEWABLE_BYTES_MAX),
      review: blobText(REVIEW_BYTES_MAX),
      rsalt: bytesText(32),
    }),
    reply: z.strictObject({ status: z.literal('accepted'), attestation: blobText(512) }),
    codes: codes(
      'rate_limited',
      'probation',
      'review_exists',
      'requester_commit_mismatch',
      'receipt_not_reviewable',
      'review_window_closed',
    ),
    limits: { bodyBytes: 640 * KIB },
  }),

  removedGateway: route({
    method: 'GET',
    path: '/x402/resource/{aid}/{capability}',
    auth: 'none',
    codes: codes('rate_limited', 'gateway_removed'),
  }),
  publicPage: route({
    method: 'GET',
    path: '/',
    auth: 'none',
    query: z.strictObject({
      q: z.string().max(256).optional(),
      cap: z.string().max(1024).optional(),
      cursor: page.cursor,
    }),
    produces: 'html',
    codes: codes('rate_limited'),
  }),
  research: route({
    method: 'GET',
    path: '/research',
    auth: 'none',
    query: z.strictObject({ cursor: page.cursor }),
    produces: 'html',
    codes: codes('rate_limited'),
  }),
  manual: route({
    method: 'GET',
    path: '/llms.txt',
    auth: 'none',
    produces: 'text',
    codes: codes('rate_limited'),
  }),

  healthz: route({
    method: 'GET',
    path: '/healthz',
    auth: 'none',
    reply: z.strictObject({
      built_at: z.string(),
      commit: z.string(),
      status: z.literal('ok'),
      version: z.string(),
    }),
    codes: codes('rate_limited'),
  }),
  updateProfile: route({
    method: 'POST',
    path: '/profile',
    auth: 'signed',
    action: 'profile',
    request: z.strictObject(profile),
    reply: z.strictObject({ status: z.literal('profile_updated') }),
    codes: codes('rate_limited'),
    limits: { bodyBytes: 128 * KIB },
  }),
  setVisibility: route({
    method: 'POST',
    path: '/agents/{aid}/visibility',
    auth: 'signed',
    action: 'visibility',
    request: z.strictObject({ visibility: visibilityShape }),
    reply: z.strictObject({ status: z.literal('visibility_set'), visibility: visibilityShape }),
    codes: codes('rate_limited'),
    limits: { bodyBytes: KIB },
  }),
  deregister: route({
    method: 'POST',
    path: '/agents/{aid}/deregister',
    auth: 'signed',
    action: 'deregister',
    request: z.strictObject({}),
    reply: z.strictObject({ status: z.literal('deregistered'), undelivered: count }),
    codes: codes('rate_limited'),
    limits: { bodyBytes: KIB },
  }),
  stats: route({
    method: 'GET',
    path: '/stats',
    auth: 'none',
    reply: z.strictObject({
      agents: count,
      federated_agents: count,
      tasks_completed: count,
      reviews: count,
      avg_rating: z.number().nullable(),
      modules: z.array(z.string()),
      online_nodes: count,
      version: z.string(),
    }),
    codes: codes('rate_limited'),
  }),
} as const

export type Wire3Routes = typeof wire3Routes
export type Wire3RouteName = keyof Wire3Routes
