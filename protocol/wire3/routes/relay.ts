/** Routes by which messages travel: sessions, sending, polling, acknowledging, asking, revoking capabilities. */
import * as z from 'zod'
import {
  ACK_ITEMS_MAX,
  DACK_BYTES,
  ENVELOPE_BYTES_MAX,
  POLL_LIMIT_MAX,
  REVOKE_ITEMS_MAX,
  STATUS_ITEMS_MAX,
} from '../../contract/limits.ts'
import { route } from '../../contract/route.ts'
import { aidShape, blobText, bytesText, count, millis, textOf } from '../../contract/shapes.ts'
import { ENCRYPTION_KEY_BYTES } from '../../identity/keyset.ts'
import { ENVELOPE_TYPE } from '../headers.ts'
import { codes, notice } from './shapes.ts'

const KIB = 1024
/** One envelope of the largest size in base64url, or many small ones. */
const POLL_REPLY_BYTES_MAX = Math.ceil(ENVELOPE_BYTES_MAX / 3) * 4 + 1024 * KIB

/** The item, its three members and their names. */
const VALUES_OF_ACK_ITEM = 7

const statusItem = z.strictObject({
  rid: textOf('16 bytes as base64url'),
  handle: textOf('16 bytes as base64url'),
  via_hub: aidShape.optional(),
})
const statusState = z.enum(['queued', 'done', 'unknown'])

/** Routes of mail, wire-3 (Members); times are Unix milliseconds. */
export const relayRoutes = {
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
      'home_unreachable',
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
      messages: z.array(
        z.strictObject({ id: count, envelope: textOf('an envelope as base64url'), accepted_at: millis }),
      ),
      more: z.boolean(),
      key_state_notice: notice.optional(),
      key_state_notice_error: z.string().optional(),
    }),
    codes: codes('rate_limited'),
    limits: { bodyBytes: KIB, replyBytes: POLL_REPLY_BYTES_MAX },
  }),
  relayAck: route({
    method: 'POST',
    path: '/relay/ack',
    auth: 'signed',
    action: 'ack',
    request: z.strictObject({
      items: z.array(
        z.strictObject({
          id: count,
          handle: textOf('16 bytes as base64url').optional(),
          dack: textOf('540 bytes as base64url').optional(),
        }),
      ),
    }),
    reply: z.strictObject({ acked: count, stored: count }),
    itemCode: 'bad_ack_item',
    codes: codes('rate_limited', 'bad_ack_item'),
    limits: { bodyBytes: 896 * KIB, items: ACK_ITEMS_MAX, values: VALUES_OF_ACK_ITEM * ACK_ITEMS_MAX + 8 },
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
    codes: codes('bad_status_query', 'home_unreachable', 'rate_limited'),
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
    limits: { bodyBytes: 64 * KIB, items: REVOKE_ITEMS_MAX, values: REVOKE_ITEMS_MAX + 8 },
  }),
} as const
