/** Joining a hub over wire 1, and what an agent says of itself there. */
import * as z from 'zod'
import { CAPS_MAX, NAME_BYTES_MAX, README_BYTES_MAX, SUMMARY_BYTES_MAX } from '../../contract/limits.ts'
import { route } from '../../contract/route.ts'
import { aidShape, capTag, count, lineShape, plainShape, visibilityShape } from '../../contract/shapes.ts'
import { challenge, kel64 } from './shapes.ts'

const KIB = 1024
const MIB = 1024 * KIB
/** Bytes of the text about prices at most. */
export const PRICING_BYTES_MAX = 1024
const INVITE_CHARACTERS_MAX = 256
const CARD_CHARACTERS_MAX = 64 * KIB
/** Bytes of a direct address at most. */
export const ADDRESS_BYTES_MAX = 256

/** Routes of joining, each under a signature of the agent. */
export const registryRoutes = {
  register: route({
    method: 'POST',
    path: '/register',
    auth: 'signed',
    action: 'register',
    signer: 'core',
    request: z.object({
      ...challenge,
      kel: kel64,
      name: lineShape(NAME_BYTES_MAX).optional(),
      caps: z.array(capTag).max(CAPS_MAX).optional(),
      summary: lineShape(SUMMARY_BYTES_MAX).optional(),
      readme: plainShape(README_BYTES_MAX).optional(),
      pricing: plainShape(PRICING_BYTES_MAX).optional(),
      guest_messages: z.int().optional(),
      invite: z.string().max(INVITE_CHARACTERS_MAX).optional(),
      /** Its JSON text, as it was signed. */
      card: z.string().max(CARD_CHARACTERS_MAX).optional(),
    }),
    reply: z.object({ aid: aidShape, status: z.literal('registered') }),
    codes: ['malformed', 'stale_challenge', 'unauthorized', 'forbidden'],
    limits: { bodyBytes: MIB },
  }),
  profile: route({
    method: 'POST',
    path: '/profile',
    auth: 'signed',
    action: 'profile',
    request: z.object({
      ...challenge,
      summary: lineShape(SUMMARY_BYTES_MAX).optional(),
      readme: plainShape(README_BYTES_MAX).optional(),
      pricing: plainShape(PRICING_BYTES_MAX).optional(),
    }),
    reply: z.object({ aid: aidShape, status: z.literal('profile_updated') }),
    codes: ['malformed', 'stale_challenge', 'unauthorized'],
    limits: { bodyBytes: MIB },
  }),
  visibility: route({
    method: 'POST',
    path: '/agents/{aid}/visibility',
    auth: 'signed',
    action: 'profile',
    request: z.object({ ...challenge, aid: aidShape.optional(), visibility: visibilityShape }),
    reply: z.object({ aid: aidShape, status: z.literal('visibility_set'), visibility: visibilityShape }),
    codes: ['malformed', 'stale_challenge', 'unauthorized'],
    limits: { bodyBytes: MIB },
  }),
  deregister: route({
    method: 'POST',
    path: '/agents/{aid}/deregister',
    auth: 'signed',
    action: 'profile',
    request: z.object({ ...challenge, aid: aidShape.optional() }),
    reply: z.object({
      aid: aidShape,
      status: z.literal('deregistered'),
      undelivered: count,
      warning: z.string().optional(),
    }),
    codes: ['malformed', 'stale_challenge', 'unauthorized'],
    limits: { bodyBytes: MIB },
  }),
  publishAddress: route({
    method: 'POST',
    path: '/agents/{aid}/p2p',
    auth: 'signed',
    action: 'profile',
    request: z.object({ ...challenge, aid: aidShape.optional(), addr: lineShape(ADDRESS_BYTES_MAX) }),
    reply: z.object({ status: z.enum(['published', 'withdrawn']) }),
    codes: ['malformed', 'stale_challenge', 'unauthorized'],
    limits: { bodyBytes: MIB },
  }),
} as const
