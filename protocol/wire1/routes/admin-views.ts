/** What the operator of a hub looks at: capabilities, the network, the store, visits, reviews, cards, and what was done. */
import * as z from 'zod'
import { cardColumns } from '../../contract/board.ts'
import { route } from '../../contract/route.ts'
import { aidShape, count } from '../../contract/shapes.ts'
import { changes, ofOne, paged, pageQuery, paging, rating, reads } from './admin-shapes.ts'
import { isoTime } from './shapes.ts'

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

/** Routes of what can be looked at. */
export const adminViewRoutes = {
  adminCapabilities: route({
    ...reads,
    method: 'GET',
    path: '/admin/api/capabilities',
    query: pageQuery,
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
      health: z.object({ full: z.boolean(), locked: z.boolean(), away: z.boolean(), broken: z.boolean() }),
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
    query: pageQuery,
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
    query: pageQuery,
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
    query: z.object({ ...paging, column: z.enum(cardColumns).optional() }),
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
    query: pageQuery,
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
