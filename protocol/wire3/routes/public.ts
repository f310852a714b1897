/** Routes that anybody may read: the hub itself, its agents and their cards, pages, figures. */
import * as z from 'zod'
import { route } from '../../contract/route.ts'
import { aidShape, bytesText, count, visibilityShape } from '../../contract/shapes.ts'
import { agentEntry, codes, kel, LISTING_WEIGHT, page } from './shapes.ts'

/** Media type of `/.well-known/ai-catalog.json`. */
export const AI_CATALOG_TYPE = 'application/ai-catalog+json'

const rating = z.strictObject({ reviews: count, avg_rating: z.number().nullable() })
/** A listing reads as much as several requests; it counts as so many in the bucket of its address. */
const term = z.string().min(1).max(256)
/** A card as its agent signed it; a hub serves none that it has not verified. */
const cardShape = z.record(z.string(), z.unknown())
const agentList = z.strictObject({ agents: z.array(agentEntry), next: z.string().optional() })

/** The query of a page for people: links bring parameters of others along, which are ignored. */
const pageQuery = <S extends z.ZodRawShape>(shape: S) => z.object(shape)
const searched = z.string().optional()
const about = {
  name: z.string().optional(),
  contact: z.string().optional(),
  terms: z.string().optional(),
  abuse: z.string().optional(),
  source: z.string().optional(),
}

/** Routes without a sender's identity, wire-3 (Members). */
export const publicRoutes = {
  hubIdentity: route({
    method: 'GET',
    path: '/hub/identity',
    auth: 'none',
    reply: z.strictObject({ aid: aidShape, kel, wire: count, dir_max_bits: count }),
    codes: codes('rate_limited'),
  }),
  hubKels: route({
    method: 'GET',
    path: '/hub/kels',
    auth: 'none',
    reply: z.strictObject({ hubs: z.array(z.strictObject({ aid: aidShape, kel })) }),
    codes: codes('rate_limited'),
    limits: { weight: LISTING_WEIGHT },
  }),
  agents: route({
    method: 'GET',
    path: '/agents',
    auth: 'anonymous',
    query: z.strictObject({ cap: z.string().optional(), ...page }),
    reply: agentList,
    codes: codes('rate_limited'),
    limits: { weight: LISTING_WEIGHT },
  }),
  a2aAgents: route({
    method: 'GET',
    path: '/a2a/v1/agents',
    auth: 'anonymous',
    query: z.strictObject({
      q: z.string().max(256).optional(),
      skill: term.optional(),
      tag: term.optional(),
      ...page,
    }),
    reply: z.strictObject({
      agents: z.array(agentEntry.extend({ card: cardShape.optional() })),
      next: z.string().optional(),
    }),
    codes: codes('rate_limited'),
    limits: { weight: LISTING_WEIGHT },
  }),
  agent: route({
    method: 'GET',
    path: '/agents/{aid}',
    auth: 'none',
    reply: agentEntry.extend({ readme: z.string(), visibility: visibilityShape }),
    codes: codes('rate_limited', 'unknown_aid'),
  }),
  a2aCard: route({
    method: 'GET',
    path: '/a2a/v1/agents/{aid}/card',
    auth: 'none',
    reply: cardShape,
    codes: codes('rate_limited', 'unknown_aid'),
  }),
  cardKeys: route({
    method: 'GET',
    path: '/agents/{aid}/jwks.json',
    auth: 'none',
    reply: z.strictObject({
      keys: z.array(
        z.strictObject({
          kty: z.literal('OKP'),
          crv: z.literal('Ed25519'),
          x: bytesText(32),
          kid: z.string(),
          alg: z.literal('EdDSA'),
          use: z.literal('sig'),
        }),
      ),
    }),
    codes: codes('rate_limited', 'unknown_aid'),
  }),
  aiCatalog: route({
    method: 'GET',
    path: '/.well-known/ai-catalog.json',
    auth: 'none',
    own: true,
    mediaType: AI_CATALOG_TYPE,
    query: z.strictObject({ cursor: page.cursor }),
    reply: z.strictObject({
      specVersion: z.literal('1.0'),
      host: z.strictObject({ displayName: z.string(), identifier: z.string() }),
      entries: z.array(
        z.strictObject({
          identifier: z.string(),
          displayName: z.string(),
          mediaType: z.string(),
          url: z.string(),
          tags: z.array(z.string()),
        }),
      ),
      next: z.string().optional(),
    }),
    codes: codes('rate_limited'),
    limits: { weight: LISTING_WEIGHT },
  }),
  reputation: route({
    method: 'GET',
    path: '/agents/{aid}/reputation',
    auth: 'none',
    reply: z.strictObject({
      aid: aidShape,
      local: rating,
      peers: z.array(rating.extend({ hub: aidShape })),
      combined: rating,
      /** Share of the largest source, a reviewer of this hub or a whole peer, 0 to 1. */
      concentration: z.number(),
      distinct_reviewers: count,
      note: z.string(),
    }),
    codes: codes('rate_limited', 'unknown_aid'),
  }),
  graph: route({
    method: 'GET',
    path: '/graph',
    auth: 'none',
    query: z.strictObject({ cursor: page.cursor }),
    reply: z.strictObject({
      nodes: z.array(
        z.strictObject({
          aid: aidShape,
          name: z.string(),
          caps: z.array(z.string()),
          registered: z.boolean(),
        }),
      ),
      /** Who reviewed whom is nobody's business: always empty. */
      edges: z.array(z.never()),
      next: z.string().optional(),
    }),
    codes: codes('rate_limited'),
    limits: { weight: LISTING_WEIGHT },
  }),
  removedGateway: route({
    method: 'GET',
    path: '/x402/resource/{aid}/{capability}',
    auth: 'none',
    codes: codes('rate_limited', 'gateway_removed'),
  }),
  publicPage: route({
    method: 'GET',
    path: '/',
    auth: 'none',
    query: pageQuery({ q: searched, cap: searched, cursor: searched }),
    produces: 'html',
    codes: codes('rate_limited'),
    limits: { weight: LISTING_WEIGHT },
  }),
  agentPage: route({
    method: 'GET',
    path: '/agents/{aid}/page',
    auth: 'none',
    own: true,
    query: pageQuery({}),
    produces: 'html',
    codes: codes('rate_limited'),
  }),
  research: route({
    method: 'GET',
    path: '/research',
    auth: 'none',
    query: pageQuery({ cursor: searched }),
    produces: 'html',
    codes: codes('rate_limited'),
    limits: { weight: LISTING_WEIGHT },
  }),
  manual: route({
    method: 'GET',
    path: '/llms.txt',
    auth: 'none',
    query: pageQuery({}),
    produces: 'text',
    codes: codes('rate_limited'),
  }),
  healthz: route({
    method: 'GET',
    path: '/healthz',
    auth: 'none',
    reply: z.strictObject({
      built_at: z.string(),
      commit: z.string(),
      status: z.literal('ok'),
      version: z.string(),
    }),
    codes: codes('rate_limited'),
  }),
  stats: route({
    method: 'GET',
    path: '/stats',
    auth: 'none',
    reply: z.strictObject({
      agents: count,
      federated_agents: count,
      tasks_completed: count,
      reviews: count,
      avg_rating: z.number().nullable(),
      modules: z.array(z.string()),
      online_nodes: count,
      version: z.string(),
      /** What the figures rest on. */
      note: z.string(),
      /** What the operator says of the hub, as far as he does. */
      ...about,
    }),
    codes: codes('rate_limited'),
  }),
} as const
