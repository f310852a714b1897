/** The network as it is seen from this hub: its agents, its peers, and who reviewed whom; bounded, and it says so. */
import { average } from '../../core/reviews.ts'
import { rowsOf } from '../../http/rows.ts'
import { Entries } from '../entries.ts'
import type { AdminParts, Part } from './handler.ts'

const AGENTS_MAX = 500
const REVIEWS_READ_MAX = 5000

type Node = { id: string; kind: 'hub' | 'peer' | 'agent' | 'stranger'; name: string }
type Told = { from: string; to: string; reviews: number; ratings: number }

export function visionHandlers({ hub }: AdminParts): Part<'adminVision'> {
  const { identity, peers } = hub.context
  return {
    async adminVision() {
      const nodes = new Map<string, Node>([
        [identity.aid, { id: identity.aid, kind: 'hub', name: 'this hub' }],
      ])
      for (const { aid, url } of peers.all) nodes.set(aid, { id: aid, kind: 'peer', name: url })
      const here = await agentsOf()
      for (const agent of here.agents) nodes.set(agent.id, agent)
      const reviews = await reviewsOf()
      for (const { from, to } of reviews.edges)
        for (const id of [from, to]) if (!nodes.has(id)) nodes.set(id, { id, kind: 'stranger', name: '' })
      const edge = (to: string, kind: 'home' | 'peer') => ({ from: identity.aid, to, kind, count: 1 })
      return {
        nodes: [...nodes.values()],
        edges: [
          ...peers.all.map(({ aid }) => edge(aid, 'peer')),
          ...here.agents.map(({ id }) => edge(id, 'home')),
          ...reviews.edges.map(({ from, to, reviews: count, ratings }) => ({
            ...{ from, to, kind: 'review' as const, count, avg_rating: average(ratings, count) ?? 0 },
          })),
        ],
        truncated: here.hasMore || reviews.hasMore,
      }
    },
  }

  async function agentsOf(): Promise<{ agents: Node[]; hasMore: boolean }> {
    const agents: Node[] = []
    for await (const { row } of rowsOf(new Entries(hub).here())) {
      if (agents.length === AGENTS_MAX) return { agents, hasMore: true }
      agents.push({ id: row.aid, kind: 'agent', name: row.name })
    }
    return { agents, hasMore: false }
  }

  /** Each pair once. */
  async function reviewsOf(): Promise<{ edges: Told[]; hasMore: boolean }> {
    const pairs = new Map<string, Told>()
    let read = 0
    for await (const { reviewer, provider, rating } of rowsOf(hub.openReviews.edges())) {
      if (read++ === REVIEWS_READ_MAX) return { edges: [...pairs.values()], hasMore: true }
      const pair = [reviewer, provider].join(' ')
      const held = pairs.get(pair) ?? { from: reviewer, to: provider, reviews: 0, ratings: 0 }
      pairs.set(pair, { ...held, reviews: held.reviews + 1, ratings: held.ratings + rating })
    }
    return { edges: [...pairs.values()], hasMore: false }
  }
}
