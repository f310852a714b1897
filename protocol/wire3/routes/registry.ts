/** Routes of an agent's own entry: registration, keys, key logs, profile, the sealed directory, reviews. */
import * as z from 'zod'
import { CAPS_MAX, NAME_BYTES_MAX, README_BYTES_MAX, SUMMARY_BYTES_MAX } from '../../contract/limits.ts'
import { route } from '../../contract/route.ts'
import {
  aidShape,
  blobText,
  bytesText,
  capTag,
  count,
  lineShape,
  millis,
  plainShape,
  textOf,
  visibilityShape,
} from '../../contract/shapes.ts'
import { KEL_BYTES_MAX } from '../../identity/kel.ts'
import { attestationText, codes, kel, keySetText, reviewText } from './shapes.ts'

const KIB = 1024
const REVIEWABLE_BYTES_MAX = KEL_BYTES_MAX + 80 * KIB
/** A whole log as base64url, and readme and card even where each character stands as an escape. */
const REGISTER_BYTES_MAX = 768 * KIB
/** Most of them are of the card. */
const REGISTER_VALUES_MAX = 8192

const profile = {
  name: lineShape(NAME_BYTES_MAX).optional(),
  caps: z.array(capTag).max(CAPS_MAX).optional(),
  summary: lineShape(SUMMARY_BYTES_MAX).optional(),
  readme: plainShape(README_BYTES_MAX).optional(),
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

/** Routes of an agent's entry and of the directory, wire-3 (Members). */
export const registryRoutes = {
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
      enc_keys: keySetText.optional(),
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
    limits: { bodyBytes: REGISTER_BYTES_MAX, values: REGISTER_VALUES_MAX },
  }),
  publishKeys: route({
    method: 'POST',
    path: '/agents/{aid}/keys',
    auth: 'signed',
    action: 'keys',
    request: z.strictObject({ keys: keySetText, prev_seq: count }),
    reply: z.strictObject({ keys_status: z.enum(['stored', 'unchanged']) }),
    codes: codes('rate_limited', 'keys_rollback', 'kel_invalid'),
    limits: { bodyBytes: 16 * KIB },
  }),
  agentKeys: route({
    method: 'GET',
    path: '/agents/{aid}/keys',
    auth: 'none',
    reply: z.strictObject({ aid: aidShape, keys: keySetText, kel }),
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
  agentKel: route({
    method: 'GET',
    path: '/agents/{aid}/kel',
    auth: 'none',
    reply: z.strictObject({ aid: aidShape, kel, registered: z.boolean() }),
    codes: codes('rate_limited', 'unknown_aid'),
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
  directoryBucket: route({
    method: 'POST',
    path: '/directory:bucket',
    auth: 'anonymous',
    request: z.strictObject({ prefix: blobText(32), bits: count, cursor: bytesText(32).optional() }),
    reply: z.strictObject({
      max_bits: count,
      entries: z.array(z.strictObject({ h: bytesText(32), box: textOf('a box as base64url') })),
      next: bytesText(32).optional(),
      partial: z.boolean().optional(),
    }),
    codes: codes('bucket_too_narrow', 'rate_limited'),
    limits: { bodyBytes: 4 * KIB },
  }),
  uploadReview: route({
    method: 'POST',
    path: '/reviews',
    auth: 'signed',
    action: 'review',
    request: z.strictObject({
      receipt: blobText(REVIEWABLE_BYTES_MAX),
      review: reviewText,
      rsalt: bytesText(32),
    }),
    reply: z.strictObject({ status: z.literal('accepted'), attestation: attestationText }),
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
} as const
