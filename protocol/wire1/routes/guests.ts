/** The guest gateway over wire 1: a visitor has a session and no keys. */
import * as z from 'zod'
import { route } from '../../contract/route.ts'
import { aidShape, blob64, count } from '../../contract/shapes.ts'

const KIB = 1024
const MIB = 1024 * KIB
/** Characters of one message. */
export const GUEST_TEXT_MAX = 64 * KIB
/** Attachments of one message, and their bytes together. */
export const GUEST_FILES_MAX = 10
/** See {@link GUEST_FILES_MAX}. */
export const GUEST_FILES_BYTES_MAX = 20 * MIB

const session = z.string().max(256)
const off = z.object({ enabled: z.literal(false), reason: z.string().optional() })
const file = z.object({
  name: z.string().min(1).max(60),
  mime: z.string().max(60),
  data: blob64(GUEST_FILES_BYTES_MAX),
})
const word = z.object({
  body: z.string(),
  system: z.boolean(),
  end: z.enum(['', 'requested', 'accepted']),
})

/** Routes of the guest gateway. */
export const guestRoutes = {
  guestPage: route({
    method: 'GET',
    path: '/guest',
    auth: 'none',
    query: z.object({ aid: z.string().optional() }),
    produces: 'html',
    own: true,
  }),
  guestStart: route({
    method: 'POST',
    path: '/guest/start',
    auth: 'none',
    request: z.object({ aid: aidShape.optional() }),
    reply: z.union([
      off,
      z.object({
        enabled: z.literal(true),
        session,
        handler: z.string(),
        handler_aid: aidShape,
        remaining: count,
      }),
    ]),
    codes: ['malformed', 'full'],
  }),
  guestSend: route({
    method: 'POST',
    path: '/guest/send',
    auth: 'none',
    request: z.object({
      session,
      body: z.string().max(GUEST_TEXT_MAX).default(''),
      attachments: z.array(file).max(GUEST_FILES_MAX).default([]),
      /** Ours: what a visitor calls the message; called the same again, it is not sent twice. */
      once: z.string().min(1).max(64).optional(),
    }),
    reply: z.union([
      off,
      z.object({ limit_reached: z.literal(true), remaining: count }),
      z.object({ ended: z.literal(true), remaining: count }),
      z.object({ remaining: count }),
    ]),
    codes: ['malformed', 'unknown', 'failed'],
    limits: { bodyBytes: 28 * MIB },
    apart: true,
  }),
  guestPoll: route({
    method: 'POST',
    path: '/guest/poll',
    auth: 'none',
    request: z.object({
      session,
      /** Ours: how many words the visitor has; what comes after them is kept until it has that. */
      has: count.optional(),
    }),
    /** `ended` is ours, for whoever counts words: nothing leaves any more under this session. */
    reply: z.union([off, z.object({ messages: z.array(word), ended: z.literal(true).optional() })]),
    codes: ['malformed'],
  }),
  guestEnd: route({
    method: 'POST',
    path: '/guest/end',
    auth: 'none',
    request: z.object({ session }),
    reply: z.union([off, z.object({ ended: z.literal(true), accepted: z.boolean() })]),
    codes: ['malformed', 'unknown', 'failed'],
  }),
} as const
