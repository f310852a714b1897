/** What anybody may read at a hub that speaks wire 1. */
import * as z from 'zod'
import { route } from '../../contract/route.ts'
import { aidShape, count } from '../../contract/shapes.ts'
import { isoTime, kel64 } from './shapes.ts'

const entry = z.object({
  aid: aidShape,
  name: z.string(),
  caps: z.array(z.string()),
  summary: z.string(),
  listed: z.boolean(),
  guest_quota: count,
  avg_rating: z.number(),
  review_count: count,
  registered_at: isoTime.optional(),
  registered: z.boolean(),
  last_seen: isoTime.optional(),
  quiet: z.literal(true).optional(),
  home_hub: aidShape.optional(),
})

const review = z.object({
  interaction_id: z.string(),
  rating: z.number(),
  goal: z.string(),
  deliverable: z.string(),
  request_cid: z.string(),
  result_cid: z.string(),
})
const rated = z.object({ reviews: count, avg_rating: z.number() })

/** Routes of the directory that are read without a signature. */
export const directoryRoutes = {
  hubIdentity: route({
    method: 'GET',
    path: '/hub/identity',
    auth: 'none',
    reply: z.object({ aid: aidShape, kel: kel64 }),
  }),
  healthz: route({
    method: 'GET',
    path: '/healthz',
    auth: 'none',
    reply: z.object({
      status: z.literal('ok'),
      version: z.string(),
      commit: z.string(),
      built_at: z.string(),
    }),
  }),
  agents: route({
    method: 'GET',
    path: '/agents',
    auth: 'none',
    query: z.object({ cap: z.string().optional(), q: z.string().optional() }),
    reply: z.object({ agents: z.array(entry) }),
    codes: ['malformed'],
  }),
  agent: route({
    method: 'GET',
    path: '/agents/{aid}',
    auth: 'none',
    reply: z.object({ agent: entry, reviews: z.array(review), note: z.string().optional() }),
    codes: ['unknown'],
  }),
  card: route({
    method: 'GET',
    path: '/agents/{aid}/card',
    auth: 'none',
    produces: 'text',
    codes: ['unknown'],
  }),
  reputation: route({
    method: 'GET',
    path: '/agents/{aid}/reputation',
    auth: 'none',
    reply: z.object({
      reputation: z.object({
        aid: aidShape,
        local: rated,
        peers: z.array(z.object({ hub: aidShape, reviews: count, avg_rating: z.number() })),
        combined: rated,
        concentration: z.number().min(0).max(1),
      }),
      note: z.string(),
    }),
    codes: ['unknown'],
  }),
  graph: route({
    method: 'GET',
    path: '/graph',
    auth: 'none',
    reply: z.object({
      nodes: z.array(entry),
      edges: z.array(
        z.object({ from: aidShape, to: aidShape, interaction_id: z.string(), rating: z.number() }),
      ),
    }),
  }),
  addresses: route({
    method: 'GET',
    path: '/p2p/peers',
    auth: 'none',
    reply: z.object({ peers: z.array(z.object({ aid: aidShape, addr: z.string() })) }),
  }),
  agentKel: route({
    method: 'GET',
    path: '/agents/{aid}/kel',
    auth: 'none',
    reply: z.object({
      aid: aidShape,
      kel: kel64,
      source: z.enum(['local', 'federated', 'peer-hub']),
      role: z.literal('hub').optional(),
    }),
    codes: ['unknown'],
  }),
  address: route({
    method: 'GET',
    path: '/agents/{aid}/p2p',
    auth: 'none',
    reply: z.object({ aid: aidShape, addr: z.string() }),
    codes: ['unknown'],
  }),
  stats: route({
    method: 'GET',
    path: '/stats',
    auth: 'none',
    reply: z.object({
      agents: count,
      federated_agents: count,
      tasks_completed: count,
      reviews: count,
      avg_rating: z.number(),
    }),
  }),
} as const
