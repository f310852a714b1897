/** Public page, manual, research view, health and counters (hub API §4.5). */
import { buildInfo } from '../../protocol/build-info.ts'
import { shownLine } from '../../protocol/encoding/plain-text.ts'
import { MODE_SETTING } from '../core/admission.ts'
import type { Directory } from '../core/directory.ts'
import type { Hub } from '../core/hub.ts'
import { textReply } from '../http/reply.ts'
import { afterAid, capsOf } from './directory.ts'
import type { Part } from './handler.ts'
import { manual } from './manual.ts'
import type { PageContent } from './public-page.ts'
import { pageHeaders, publicPage, researchPage } from './public-page.ts'
import { WireRefusal } from './refusals.ts'
import { average } from './reviews.ts'

const SHOWN = 25

type Names = 'publicPage' | 'research' | 'manual' | 'removedGateway' | 'healthz' | 'stats'
type PageQuery = { q?: string | undefined; cap?: string | undefined; cursor?: string | undefined }

export function pageHandlers(hub: Hub, baseUrl: () => string): Part<Names> {
  const content = async (
    query: PageQuery,
    filter: Parameters<Directory['list']>[2],
    path: string,
  ): Promise<PageContent> => {
    const { rows, next } = await hub.directory.list(afterAid(query.cursor), SHOWN, filter)
    const { agents: registered, onlineAgents, reviews, ratings } = await hub.directory.counts()
    const asked = { q: query.q ?? '', cap: query.cap ?? '' }
    return {
      baseUrl: baseUrl(),
      aid: hub.context.identity.aid,
      admission: (await hub.context.store.setting(MODE_SETTING)) === 'open' ? 'open' : 'closed',
      figures: { agents: registered, onlineAgents, reviews, rating: average(ratings, reviews) },
      agents: rows,
      search: { q: shownLine(asked.q), cap: shownLine(asked.cap) },
      nextHref: next === undefined ? undefined : nextHref(path, asked, next),
    }
  }
  return {
    async publicPage({ query }) {
      // A browser sends both fields of the form, also the empty one.
      const caps = query.cap === undefined || query.cap === '' ? undefined : capsOf(query.cap)
      const words = query.q === undefined || query.q === '' ? undefined : query.q
      return page(publicPage(await content(query, { text: words, caps }, '/')))
    },
    async research({ query }) {
      return page(researchPage(await content(query, { caps: ['research'] }, '/research')))
    },
    async manual() {
      return textReply('text/plain; charset=utf-8', manual(baseUrl(), hub.context.identity.aid))
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

const page = (document: string) => textReply('text/html; charset=utf-8', document, pageHeaders)

function nextHref(path: string, search: { q: string; cap: string }, next: string): string {
  const given = Object.entries(search).filter(([, value]) => value !== '')
  const query = new URLSearchParams([...given, ['cursor', Buffer.from(next).toString('base64url')]])
  return `${path}?${query}`
}
