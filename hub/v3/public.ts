/** Public page, manual, research view, health and counters (hub API §4.5). */
import { buildInfo } from '../../protocol/build-info.ts'
import type { About } from '../core/about.ts'
import type { Hub } from '../core/hub.ts'
import { average } from '../core/reviews.ts'
import { textReply } from '../http/reply.ts'
import { peoplePages } from '../pages/people.ts'
import type { Part } from './handler.ts'
import { manual } from './manual.ts'
import { WireRefusal } from './refusals.ts'

const STATS_NOTE =
  'tasks_completed counts the receipts that this hub was shown, one with each review; of other tasks it does not know when they end.'
const links = {
  entry: (aid: string) => `/agents/${aid}`,
  card: (aid: string) => `/a2a/v1/agents/${aid}/card`,
  page: (aid: string) => `/agents/${aid}/page`,
}

type Names = 'publicPage' | 'agentPage' | 'research' | 'manual' | 'removedGateway' | 'healthz' | 'stats'

type Told = { about: About; hasDocuments: boolean; modules: readonly string[] }

export function publicHandlers(
  hub: Hub,
  baseUrl: () => string,
  { about, hasDocuments, modules }: Told,
): Part<Names> {
  const pages = peoplePages({ hub, baseUrl, about, hasDocuments, links })
  return {
    publicPage: ({ query }) => pages.front(query),
    agentPage: ({ params }) => pages.agent(params['aid'] ?? ''),
    research: ({ query }) => pages.research(query),
    async manual() {
      return textReply(
        'text/plain; charset=utf-8',
        manual(baseUrl(), hub.context.identity.aid, { about, hasDocuments }),
      )
    },
    async removedGateway() {
      throw new WireRefusal('gateway_removed')
    },
    async healthz() {
      const { version, commit, builtAt } = buildInfo
      return { built_at: builtAt, commit, status: 'ok', version }
    },
    async stats() {
      const { agents, onlineAgents, reviews, ratings } = await hub.directory.counts()
      return {
        agents,
        federated_agents: await hub.directory.peerAgents(),
        // Each review brought one receipt; no task has two.
        tasks_completed: reviews,
        reviews,
        avg_rating: average(ratings, reviews),
        modules: [...modules],
        online_nodes: onlineAgents,
        version: buildInfo.version,
        note: STATS_NOTE,
        ...about,
      }
    },
  }
}
