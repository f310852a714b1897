/**
 * The operator's surface of a hub, on a listener of its own. Every list answers `items` and, where there are more, `next`,
 * which its next page takes as `after`.
 */
import * as z from 'zod'
import { route } from '../../contract/route.ts'
import { aidShape, count, lineShape } from '../../contract/shapes.ts'
import { body, changes, ofOne, paged, pageQuery, paging, rating, reads, writes } from './admin-shapes.ts'
import { adminViewRoutes } from './admin-views.ts'
import { isoTime } from './shapes.ts'

/** Where the surface stands, unless its operator says otherwise. */
export const ADMIN_BASE = '/admin'
/** Visitors' messages that an agent can be set to take. */
export const ADMIN_GUESTS_MAX = 100
/** Senders that an official agent can be kept to. */
export const ADMIN_SENDERS_MAX = 100

const BADGE_BYTES_MAX = 64
const REASON_BYTES_MAX = 256
const PLACE_MAX = 9999

const reason = lineShape(REASON_BYTES_MAX).default('')
const guests = z.int().min(0).max(ADMIN_GUESTS_MAX)
const place = z.int().min(0).max(PLACE_MAX)
const aids = z.array(aidShape).max(ADMIN_SENDERS_MAX)

/** Whether an agent with open mail asks for it: `unknown` before the first time. */
const livenesses = ['unknown', 'awake', 'quiet', 'abandoned'] as const

const official = z.object({
  id: aidShape,
  aid: aidShape,
  name: z.string(),
  badge: z.string(),
  place,
  added_at: isoTime,
  registered: z.boolean(),
  listed: z.boolean(),
  guest_messages: count,
  acl: z.object({ senders: z.enum(['anybody', 'named']), aids, visitors: z.boolean() }),
})
const agent = z.object({
  aid: aidShape,
  name: z.string(),
  caps: z.array(z.string()),
  summary: z.string(),
  listed: z.boolean(),
  liveness: z.enum(livenesses),
  guest_messages: count,
  waiting: count,
  avg_rating: rating,
  review_count: count,
  registered_at: isoTime,
  last_seen: isoTime.optional(),
  badge: z.string().optional(),
})
const agentDetail = agent.extend({
  readme: z.string(),
  pricing: z.string(),
  visibility: z.string(),
  address: z.string().optional(),
  key_events: count,
  has_card: z.boolean(),
  credits: z.object({ balance: count, held: count }),
  archived: z.object({ at: isoTime, reason: z.string() }).optional(),
})

/** A browser may add to its address what it likes. */
const page = {
  method: 'GET',
  auth: 'none',
  produces: 'html',
  query: z.object({}),
  codes: ['unknown'],
} as const

/** What stands at the surface without a credential, and the agents of the hub. */
const agentRoutes = {
  adminHealthz: route({
    method: 'GET',
    path: '/admin/healthz',
    auth: 'none',
    reply: z.object({
      status: z.literal('ok'),
      version: z.string(),
      commit: z.string(),
      built_at: z.string(),
    }),
  }),
  adminPage: route({ ...page, path: '/admin' }),
  adminFront: route({ ...page, path: '/admin/' }),
  adminLogin: route({
    method: 'POST',
    path: '/admin/api/login',
    auth: 'none',
    request: z.object({ token: z.string().min(1).max(1024) }),
    reply: z.object({ status: z.literal('ok'), hub: aidShape }),
    codes: ['malformed', 'unauthorized', 'limited'],
    limits: body,
  }),
  adminOverview: route({
    ...reads,
    method: 'GET',
    path: '/admin/api/overview',
    reply: z.object({
      hub: aidShape,
      version: z.string(),
      now: isoTime,
      admission: z.enum(['open', 'closed']),
      token_published: z.boolean(),
      agents: z.object({ registered: count, archived: count, official: count, at_peers: count }),
      mail: z.object({ messages: count, bytes: count, bytes_max: count }),
      guests: z.object({ open: z.boolean(), sessions: count }),
      tasks: z.object({ completed: count, cards: count }),
      reviews: z.object({ count, avg_rating: rating }),
      credits: z.object({ issued: count, redeemed: count }),
      peers: count,
      store: z.object({ full: z.boolean(), locked: z.boolean(), away: z.boolean(), broken: z.boolean() }),
    }),
  }),
  adminAgents: route({
    ...reads,
    method: 'GET',
    path: '/admin/api/agents',
    query: z.object({ ...paging, q: z.string().max(256).optional() }),
    reply: paged(agent),
  }),
  adminAgent: route({
    ...ofOne,
    method: 'GET',
    path: '/admin/api/agents/{aid}',
    reply: z.object({ agent: agentDetail }),
  }),
  adminQuota: route({
    ...changes,
    method: 'POST',
    path: '/admin/api/agents/{aid}/quota',
    request: z.object({ guest_messages: guests }),
    reply: z.object({ aid: aidShape, guest_messages: guests }),
  }),
  adminModerate: route({
    ...changes,
    method: 'POST',
    path: '/admin/api/agents/{aid}/moderate',
    request: z.object({ listed: z.boolean(), reason }),
    reply: z.object({ aid: aidShape, listed: z.boolean() }),
  }),
  adminArchive: route({
    ...writes,
    method: 'DELETE',
    path: '/admin/api/agents/{aid}',
    query: z.object({ reason: lineShape(REASON_BYTES_MAX).optional() }),
    reply: z.object({ aid: aidShape, status: z.literal('archived'), waiting: count }),
  }),
  adminDeleted: route({
    ...reads,
    method: 'GET',
    path: '/admin/api/deleted',
    query: pageQuery,
    reply: paged(
      z.object({
        aid: aidShape,
        name: z.string(),
        archived_at: isoTime,
        reason: z.string(),
        waiting: count,
      }),
    ),
  }),
  adminRestore: route({
    ...changes,
    method: 'POST',
    path: '/admin/api/deleted/{aid}/restore',
    reply: z.object({ aid: aidShape, status: z.literal('restored') }),
  }),
} as const

/** Agents that the operator vouches for. */
const officialRoutes = {
  adminOfficial: route({
    ...reads,
    method: 'GET',
    path: '/admin/api/official',
    reply: paged(official),
  }),
  adminVouch: route({
    ...writes,
    method: 'POST',
    path: '/admin/api/official',
    request: z.object({
      aid: aidShape,
      badge: lineShape(BADGE_BYTES_MAX).optional(),
      place: place.optional(),
    }),
    reply: z.object({ official }),
  }),
  adminUnvouch: route({
    ...ofOne,
    method: 'DELETE',
    path: '/admin/api/official/{id}',
    reply: z.object({ id: aidShape, status: z.literal('removed') }),
  }),
  adminOps: route({
    ...changes,
    method: 'POST',
    path: '/admin/api/official/{id}/ops',
    request: z.object({
      listed: z.boolean().optional(),
      guest_messages: guests.optional(),
      badge: lineShape(BADGE_BYTES_MAX).optional(),
      place: place.optional(),
    }),
    reply: z.object({ official }),
  }),
  adminMonitor: route({
    ...ofOne,
    method: 'GET',
    path: '/admin/api/official/{id}/monitor/{what}',
    reply: z.object({
      id: aidShape,
      what: z.string(),
      at: isoTime,
      figures: z.record(z.string(), z.union([z.number(), z.string(), z.boolean()])),
    }),
  }),
  adminInsights: route({
    ...ofOne,
    method: 'GET',
    path: '/admin/api/official/{id}/insights',
    reply: z.object({
      id: aidShape,
      reviews: count,
      avg_rating: rating,
      truncated: z.boolean(),
      months: z.array(z.object({ month: z.string(), reviews: count, avg_rating: rating })),
    }),
  }),
  adminAcl: route({
    ...changes,
    method: 'POST',
    path: '/admin/api/official/{id}/acl',
    request: z.object({
      senders: z.enum(['anybody', 'named']),
      aids: aids.default([]),
      visitors: z.boolean(),
    }),
    reply: z.object({ official }),
  }),
} as const

/** Every route of the surface by its name. */
export const adminRoutes = { ...agentRoutes, ...officialRoutes, ...adminViewRoutes } as const

/** The table as a type; its keys are {@link AdminRouteName}. */
export type AdminRoutes = typeof adminRoutes
/** Name of a route of the surface, such as `adminArchive`. */
export type AdminRouteName = keyof AdminRoutes

/** The same rows under another base, which begins with a slash and does not end with one. */
export function adminRoutesUnder(base: string): AdminRoutes {
  const moved = Object.entries(adminRoutes).map(([name, row]) => [
    name,
    { ...row, path: `${base}${row.path.slice(ADMIN_BASE.length)}` },
  ])
  return Object.fromEntries(moved) as AdminRoutes
}
