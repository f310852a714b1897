/** Health and counters (hub API §4.5). */
import { buildInfo } from '../../protocol/build-info.ts'
import type { Hub } from '../core/hub.ts'
import type { Part } from './handler.ts'
import { average } from './reviews.ts'

export function pageHandlers(hub: Hub): Part<'healthz' | 'stats'> {
  return {
    async healthz() {
      const { version, commit, builtAt } = buildInfo
      return { built_at: builtAt, commit, status: 'ok', version }
    },
    async stats() {
      const { agents, onlineAgents, reviews, ratings } = await hub.directory.counts()
      return {
        agents,
        federated_agents: 0,
        // A hub sees of tasks only what reviews show.
        tasks_completed: reviews,
        reviews,
        avg_rating: average(ratings, reviews),
        modules: [],
        online_nodes: onlineAgents,
        version: buildInfo.version,
      }
    },
  }
}
