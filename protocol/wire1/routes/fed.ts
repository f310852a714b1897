/** What hubs that list each other ask over wire 1: mail handed on, and who is where. */
import * as z from 'zod'
import { interaction, kind } from '../../contract/letter.ts'
import { route } from '../../contract/route.ts'
import { aidShape, blob64, count } from '../../contract/shapes.ts'
import { BESIDE_BYTES_MAX, payloadBytesIn } from './relay.ts'
import { toldReview } from './reviews.ts'
import { kel64, signature64 } from './shapes.ts'

const KIB = 1024
const MIB = 1024 * KIB
/** Cards of one page at most. */
export const CARDS_MAX = 200
/** Reviews of one page at most. */
export const REVIEWS_MAX = 100
const SEEN_MAX = 64
const FORWARD_BYTES_MAX = 100 * MIB
/** Bytes of a payload that is handed on, at most. */
export const FORWARDED_BYTES_MAX = payloadBytesIn(FORWARD_BYTES_MAX)
const CARD_CHARACTERS_MAX = 64 * KIB
const ANSWER_BYTES_MAX = 16 * KIB
const PAGE_BYTES_MAX = 32 * MIB

/** The record with which mail is handed on, in version 1. */
export const forwardRecord = z.object({
  v: z.literal(1),
  origin_hub_aid: aidShape,
  dest_aid: aidShape,
  from_aid: z.string().max(256),
  kind,
  interaction_id: interaction.default(''),
  payload: blob64(FORWARDED_BYTES_MAX),
  payload_cid: z.string().max(128),
  hop: z.int().min(0),
  seen_hubs: z.array(z.string().max(256)).max(SEEN_MAX),
  ts: z.int().min(0),
  key_state_seq: z.int().min(0),
  sig: signature64,
})
/** What of it is judged before its payload is looked at. */
export const forwardHead = forwardRecord.omit({ payload: true })

const query = z.object({ cursor: z.string().optional() })

/** Routes between hubs. Of a record, the version counts first: another one may have other members. */
export const fedRoutes = {
  fedForward: route({
    method: 'POST',
    path: '/fed/v1/forward',
    auth: 'none',
    errors: 'fed',
    request: z.looseObject({ v: z.int() }),
    reply: z.object({ status: z.enum(['queued', 'DUPLICATE']) }),
    codes: ['malformed', 'too_new', 'hop_exceeded', 'unauthorized', 'forbidden', 'unknown', 'failed'],
    limits: { bodyBytes: FORWARD_BYTES_MAX, besideBytes: BESIDE_BYTES_MAX, replyBytes: ANSWER_BYTES_MAX },
    streams: 'payload',
  }),
  fedCards: route({
    method: 'GET',
    path: '/fed/v1/cards',
    auth: 'none',
    errors: 'fed',
    query,
    reply: z.object({
      cursor: count,
      cards: z
        .array(
          z.object({
            card: z.string().max(CARD_CHARACTERS_MAX),
            kel: kel64,
            home: aidShape,
            fed_seq: count,
          }),
        )
        .max(CARDS_MAX),
    }),
    codes: ['malformed', 'forbidden'],
    limits: { replyBytes: PAGE_BYTES_MAX },
  }),
  fedReviews: route({
    method: 'GET',
    path: '/fed/v1/reviews',
    auth: 'none',
    errors: 'fed',
    query,
    reply: z.object({ cursor: count, reviews: z.array(toldReview).max(REVIEWS_MAX) }),
    codes: ['malformed', 'forbidden'],
    limits: { replyBytes: PAGE_BYTES_MAX },
  }),
} as const
