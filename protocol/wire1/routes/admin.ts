/**
 * The operator's surface of a hub, on a listener of its own. Every list answers `items` and, where there are more, `next`,
 * which its next page takes as `after`.
 */
import * as z from 'zod'
import { route } from '../../contract/route.ts'
import { aidShape, count, lineShape } from '../../contract/shapes.ts'
import { isoTime } from './shapes.ts'

/** Where the surface stands, unless its operator says otherwise. */
export const ADMIN_BASE = '/admin'
/** Items of one page of a list. */
export const ADMIN_PAGE_DEFAULT = 50
export const ADMIN_PAGE_MAX = 200
/** Visitors' messages that an agent can be set to take. */
export const ADMIN_GUESTS_MAX = 100
/** Senders that an official agent can be kept to. */
export const ADMIN_SENDERS_MAX = 100

const MIB = 1024 * 1024
const BADGE_BYTES_MAX = 64
const REASON_BYTES_MAX = 256
const PLACE_MAX = 9999

const body = { bodyBytes: MIB }
const paging = {
  after: z.string().max(256).optional(),
  limit: z
    .string()
    .regex(/^[0-9]{1,3}$/, { error: `expected a number from 1 to ${ADMIN_PAGE_MAX}` })
    .transform(Number)
    .pipe(z.int().min(1).max(ADMIN_PAGE_MAX))
    .optional(),
}
const paged = <S extends z.ZodType>(item: S) =>
  z.object({ items: z.array(item), next: z.string().optional() })
const query = z.object(paging)
const reason = lineShape(REASON_BYTES_MAX).default('')
const guests = z.int().min(0).max(ADMIN_GUESTS_MAX)
const place = z.int().min(0).max(PLACE_MAX)
const aids = z.array(aidShape).max(ADMIN_SENDERS_MAX)
const rating = z.number().min(0).max(5)

/** Whether an agent with open mail asks for it: `unknown` before the first time. */
export const livenesses = ['unknown', 'awake', 'quiet', 'abandoned'] as const

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
const session = z.object({
  source: z.literal('guest'),
  id: z.string(),
  handler: aidShape,
  state: z.enum(['open', 'end_requested', 'ended']),
  sent: count,
  remaining: count,
  unread: count,
  seen_at: isoTime,
})

const reads = { auth: 'bearer', codes: ['unauthorized', 'limited', 'malformed'] } as const
const ofOne = { auth: 'bearer', codes: [...reads.codes, 'unknown', 'forbidden'] } as const
const changes = { ...ofOne, limits: body } as const
const writes = { auth: 'bearer', codes: [...ofOne.codes, 'failed'], limits: body } as const

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
  adminPage: route({ method: 'GET', path: '/admin', auth: 'none', produces: 'html', codes: ['unknown'] }),
  adminFront: route({ method: 'GET', path: '/admin/', auth: 'none', produces: 'html', codes: ['unknown'] }),
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
      store: z.object({ full: z.boolean(), locked: z.boolean(), broken: z.boolean() }),
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
    query,
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

/** What can be looked at. */
const viewRoutes = {
  adminCapabilities: route({
    ...reads,
    method: 'GET',
    path: '/admin/api/capabilities',
    query,
    reply: paged(z.object({ cap: z.string(), agents: count })),
  }),
  adminDiscover: route({
    ...reads,
    method: 'GET',
    path: '/admin/api/discover',
    query: z.object({ ...paging, cap: z.string().max(256).optional() }),
    reply: paged(
      z.object({
        aid: aidShape,
        name: z.string(),
        caps: z.array(z.string()),
        summary: z.string(),
        home_hub: aidShape,
      }),
    ),
  }),
  adminVision: route({
    ...reads,
    method: 'GET',
    path: '/admin/api/vision',
    reply: z.object({
      nodes: z.array(
        z.object({ id: z.string(), kind: z.enum(['hub', 'peer', 'agent', 'stranger']), name: z.string() }),
      ),
      edges: z.array(
        z.object({
          from: z.string(),
          to: z.string(),
          kind: z.enum(['home', 'peer', 'review']),
          count,
          avg_rating: rating.optional(),
        }),
      ),
      truncated: z.boolean(),
    }),
  }),
  adminStore: route({
    ...reads,
    method: 'GET',
    path: '/admin/api/store',
    reply: z.object({
      health: z.object({ full: z.boolean(), locked: z.boolean(), broken: z.boolean() }),
      room: z.object({ disk_bytes: count, row_bytes: count }).optional(),
      open: z.object({ mailboxes: count, messages: count, bytes: count, bytes_max: count }),
      sealed: z.object({ mailboxes: count, envelopes: count, bytes: count }),
      faults: z.array(z.string()),
    }),
  }),
  adminSessions: route({
    ...reads,
    method: 'GET',
    path: '/admin/api/sessions',
    query,
    reply: paged(session),
  }),
  adminSession: route({
    ...ofOne,
    method: 'GET',
    path: '/admin/api/sessions/{source}/{id}',
    reply: z.object({ session: session.extend({ handler_name: z.string() }) }),
  }),
  adminReviews: route({
    ...reads,
    method: 'GET',
    path: '/admin/api/reviews',
    query,
    reply: paged(
      z.object({
        seq: count,
        interaction_id: z.string(),
        provider: aidShape,
        reviewer: aidShape,
        rating: z.int().min(1).max(5),
      }),
    ),
  }),
  adminTasks: route({
    ...reads,
    method: 'GET',
    path: '/admin/api/tasks',
    query: z.object({ ...paging, column: z.string().max(32).optional() }),
    reply: paged(
      z.object({
        id: z.string(),
        title: z.string(),
        state: z.string(),
        column: z.string(),
        creator_aid: aidShape,
        assignee_aid: aidShape.optional(),
        created_at: count,
        updated_at: count,
      }),
    ),
  }),
  adminAudit: route({
    ...reads,
    method: 'GET',
    path: '/admin/api/audit',
    query,
    reply: paged(
      z.object({
        n: count,
        at: isoTime,
        who: z.string(),
        action: z.string(),
        subject: z.string(),
        detail: z.string(),
      }),
    ),
  }),
  adminHarvest: route({
    ...changes,
    method: 'POST',
    path: '/admin/api/harvest',
    reply: z.object({
      peers: z.array(z.object({ hub: aidShape, reached: z.boolean() })),
    }),
  }),
} as const

/** Every route of the surface by its name. */
export const adminRoutes = { ...agentRoutes, ...officialRoutes, ...viewRoutes } as const

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
