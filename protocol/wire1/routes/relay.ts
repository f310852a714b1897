/** Mail over wire 1, which the hub can read. */
import * as z from 'zod'
import { kind, letterMembers } from '../../contract/letter.ts'
import { route } from '../../contract/route.ts'
import { aidShape, blob64, count } from '../../contract/shapes.ts'
import { challenge, isoTime } from './shapes.ts'

const MIB = 1024 * 1024
const IDS_MAX = 10_000
/** Bytes of a request that carries a payload, but for the payload. */
export const BESIDE_BYTES_MAX = 64 * 1024
const MAIL_BYTES_MAX = 1024 * MIB
/** Bytes of the payload that a request of so many bytes has room for. */
export const payloadBytesIn = (bodyBytes: number): number =>
  3 * Math.floor((bodyBytes - BESIDE_BYTES_MAX) / 4)
/** Bytes of one payload at most. */
export const PAYLOAD_BYTES_MAX = payloadBytesIn(MAIL_BYTES_MAX)
/** Of an answer to a poll, but for its payloads: 1,000 messages at most. */
const POLL_BESIDE_BYTES_MAX = 2 * MIB

/** Routes of the relay. A send is signed by nobody. */
export const relayRoutes = {
  relaySend: route({
    method: 'POST',
    path: '/relay/send',
    auth: 'none',
    request: z.object({ ...letterMembers, payload: blob64(PAYLOAD_BYTES_MAX) }),
    reply: z.union([
      z.object({
        id: z.string(),
        status: z.literal('queued'),
        recipient_quiet: z.literal(true).optional(),
        warning: z.string().optional(),
      }),
      z.object({ status: z.literal('forwarded'), via_hub: aidShape }),
    ]),
    codes: ['malformed', 'forbidden', 'unknown', 'failed', 'peer_failed'],
    limits: { bodyBytes: MAIL_BYTES_MAX, besideBytes: BESIDE_BYTES_MAX },
    streams: 'payload',
  }),
  relayPoll: route({
    method: 'POST',
    path: '/relay/poll',
    auth: 'signed',
    action: 'poll',
    request: z.object({ ...challenge, limit: z.int().default(0) }),
    reply: z.object({
      messages: z.array(
        z.object({
          id: z.string(),
          from_aid: z.string(),
          kind,
          interaction_id: z.string(),
          payload: blob64(PAYLOAD_BYTES_MAX),
          created_at: isoTime,
        }),
      ),
    }),
    codes: ['malformed', 'stale_challenge', 'unauthorized'],
    limits: { replyBytes: POLL_BESIDE_BYTES_MAX },
  }),
  relayAck: route({
    method: 'POST',
    path: '/relay/ack',
    auth: 'signed',
    action: 'ack',
    request: z.object({ ...challenge, ids: z.array(z.string().max(256)) }),
    reply: z.object({ acked: count }),
    codes: ['malformed', 'stale_challenge', 'unauthorized'],
    limits: { bodyBytes: MIB, values: IDS_MAX },
  }),
} as const
