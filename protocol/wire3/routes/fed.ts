/** Routes between hubs that list each other; every request is signed by the calling hub. */
import * as z from 'zod'
import { DACK_BYTES, ENVELOPE_BYTES_MAX, STATUS_ITEMS_MAX } from '../../contract/limits.ts'
import { route } from '../../contract/route.ts'
import { aidShape, blobText, bytesText, count, millis, textOf } from '../../contract/shapes.ts'
import { BOX_BYTES_MAX, BUCKET_BITS_MAX } from '../../identity/directory.ts'
import { CLEARING_BYTES_MAX } from '../../proof/clearing.ts'
import { SETTLEMENT_BYTES_MAX } from '../../proof/payment.ts'
import { ENVELOPE_TYPE } from '../headers.ts'
import { ofPayment, peerPaymentRequest, settleWithEndReply } from './credits.ts'
import { attestationText, codes, kel, keySetText, notice, reviewText, whole } from './shapes.ts'

const KIB = 1024
const MIB = 1024 * KIB

const RECEIPT_BYTES_MAX = 65 * KIB
/** Reviews and cards in one answer, and the digits of their numbers. */
const REVIEWS_MAX = 100
const CARDS_MAX = 200
const FED_SEQ_DIGITS = 16

/** What was told of an agent before is told no more. */
const withdrawn = z.strictObject({ aid: aidShape, withdrawn: z.literal(true), fed_seq: count })

/** When the hub that says it was last restored, and since when it may lack something: Unix ms, together or not at all. */
const ofRestore = { restored: millis.optional(), lost_since: millis.optional() }

/** Routes of federation, wire-3 (Members). */
export const fedRoutes = {
  fedForward: route({
    method: 'POST',
    path: '/fed/v3/forward',
    auth: 'signed',
    action: 'fed_forward',
    signedBy: 'hub',
    raw: ENVELOPE_TYPE,
    reply: z.strictObject({
      status: z.enum(['queued', 'duplicate']),
      rid: bytesText(16),
      recipient_quiet: z.boolean(),
    }),
    codes: codes(
      'access_invalid',
      'bad_envelope',
      'bad_exp',
      'expired',
      'kid_stale',
      'mailbox_full',
      'not_peer',
      'rate_limited',
      'redelivery_limited',
      'source_rate',
      'strangers_busy',
      'too_large_for_stranger',
      'unknown_destination',
    ),
    limits: { bodyBytes: ENVELOPE_BYTES_MAX },
  }),
  fedBucket: route({
    method: 'POST',
    path: '/fed/v3/directory:bucket',
    auth: 'signed',
    action: 'fed_bucket',
    signedBy: 'hub',
    request: z.strictObject({
      prefix: z.string(),
      bits: z.int().min(0).max(BUCKET_BITS_MAX),
      cursor: bytesText(32).optional(),
    }),
    reply: z.strictObject({
      max_bits: count,
      entries: z.array(z.strictObject({ h: bytesText(32), box: blobText(BOX_BYTES_MAX) })),
      next: bytesText(32).optional(),
    }),
    codes: codes('bucket_too_narrow', 'not_peer', 'rate_limited', 'source_rate'),
    limits: { bodyBytes: KIB, replyBytes: 4 * MIB },
  }),
  fedStatus: route({
    method: 'POST',
    path: '/fed/v3/relay-status',
    auth: 'signed',
    action: 'fed_status',
    signedBy: 'hub',
    request: z.strictObject({
      items: z.array(
        z.strictObject({ rid: textOf('16 bytes as base64url'), handle: textOf('16 bytes as base64url') }),
      ),
    }),
    reply: z.strictObject({
      items: z.array(
        z.strictObject({
          state: z.enum(['queued', 'done', 'unknown']),
          dack: bytesText(DACK_BYTES).optional(),
        }),
      ),
    }),
    itemCode: 'bad_status_query',
    codes: codes('bad_status_query', 'not_peer', 'rate_limited', 'source_rate'),
    limits: { bodyBytes: 16 * KIB, items: STATUS_ITEMS_MAX },
  }),
  /** A payment from an account here to an agent of the calling hub, or what that agent ordered about its hold. */
  fedSettle: route({
    method: 'POST',
    path: '/fed/v3/settle',
    auth: 'signed',
    action: 'fed_settle',
    signedBy: 'hub',
    request: peerPaymentRequest,
    reply: settleWithEndReply,
    codes: codes('not_peer', 'rate_limited', 'source_rate'),
    limits: ofPayment,
  }),
  /** What the calling hub thinks that it owes, and what was signed of it; below 0 it is owed. */
  fedClear: route({
    method: 'POST',
    path: '/fed/v3/clear',
    auth: 'signed',
    action: 'fed_clear',
    signedBy: 'hub',
    request: z.strictObject({
      due: z.int(),
      ...ofRestore,
      receipt: blobText(SETTLEMENT_BYTES_MAX).optional(),
      statement: blobText(CLEARING_BYTES_MAX).optional(),
    }),
    reply: z.strictObject({ peer: aidShape, owed: z.int(), ...ofRestore }),
    codes: codes('not_peer', 'rate_limited', 'source_rate'),
    limits: { bodyBytes: 2 * KIB },
  }),
  fedReviews: route({
    method: 'GET',
    path: '/fed/v3/reviews',
    auth: 'signed',
    action: 'fed_reviews',
    signedBy: 'hub',
    query: z.strictObject({ cursor: whole(FED_SEQ_DIGITS).optional() }),
    reply: z.strictObject({
      reviews: z
        .array(
          z.union([
            z.strictObject({
              format: z.literal(1),
              receipt: blobText(RECEIPT_BYTES_MAX),
              review: reviewText,
              attestation: attestationText,
              provider_kel: kel,
              fed_seq: count,
            }),
            withdrawn,
          ]),
        )
        .max(REVIEWS_MAX),
      next: count.optional(),
    }),
    codes: codes('not_peer', 'rate_limited', 'source_rate'),
    limits: { replyBytes: 4 * MIB },
  }),
  fedCards: route({
    method: 'GET',
    path: '/fed/v3/cards',
    auth: 'signed',
    action: 'fed_cards',
    signedBy: 'hub',
    query: z.strictObject({ cursor: whole(FED_SEQ_DIGITS).optional() }),
    reply: z.strictObject({
      cards: z
        .array(
          z.union([
            z.strictObject({ kel, keys: keySetText, key_state_notice: notice.optional(), fed_seq: count }),
            withdrawn,
          ]),
        )
        .max(CARDS_MAX),
      next: count.optional(),
    }),
    codes: codes('not_peer', 'rate_limited', 'source_rate'),
    limits: { replyBytes: 4 * MIB },
  }),
} as const
