/** Public page, manual, research view, health and counters (hub API §4.5). */
import { buildInfo } from '../../protocol/build-info.ts'
import { shownLine } from '../../protocol/encoding/plain-text.ts'
import type { About } from '../core/about.ts'
import { MODE_SETTING } from '../core/admission.ts'
import type { Directory } from '../core/directory.ts'
import type { Hub } from '../core/hub.ts'
import { Refusal } from '../core/refusal.ts'
import { textReply } from '../http/reply.ts'
import { agentPage, noAgentPage } from './agent-page.ts'
import { afterAid, capsOf } from './directory.ts'
import type { Part } from './handler.ts'
import { manual } from './manual.ts'
import { pageHeaders } from './page-frame.ts'
import type { PageContent } from './public-page.ts'
import { publicPage, researchPage } from './public-page.ts'
import { WireRefusal } from './refusals.ts'
import { average } from './reviews.ts'

const SHOWN = 25
const WORDS_MAX = 256
const NOT_FOUND = 404
const STATS_NOTE =
  'tasks_completed counts the receipts that this hub was shown, one with each review; of other tasks it does not know when they end.'

type Names = 'publicPage' | 'agentPage' | 'research' | 'manual' | 'removedGateway' | 'healthz' | 'stats'
type PageQuery = { q?: string | undefined; cap?: string | undefined; cursor?: string | undefined }

type Told = { about: About; hasDocuments: boolean; modules: readonly string[] }

export function pageHandlers(
  hub: Hub,
  baseUrl: () => string,
  { about, hasDocuments, modules }: Told,
): Part<Names> {
  const content = async (
    query: PageQuery,
    filter: Parameters<Directory['list']>[2],
    path: string,
  ): Promise<PageContent> => {
    const asked = askedFor(query)
    const { rows, next } =
      asked.problem === undefined
        ? await hub.directory.list(asked.afterAid, SHOWN, { ...asked.filter, ...filter, onlyPublic: true })
        : { rows: [], next: undefined }
    const { agents: registered, onlineAgents, reviews, ratings } = await hub.directory.counts()
    return {
      baseUrl: baseUrl(),
      aid: hub.context.identity.aid,
      admission: (await hub.context.store.setting(MODE_SETTING)) === 'open' ? 'open' : 'closed',
      figures: { agents: registered, onlineAgents, reviews, rating: average(ratings, reviews) },
      agents: rows,
      search: { q: shownLine(query.q ?? ''), cap: shownLine(query.cap ?? '') },
      problem: asked.problem,
      about,
      hasDocuments,
      nextHref:
        next === undefined ? undefined : nextHref(path, { q: query.q ?? '', cap: query.cap ?? '' }, next),
    }
  }
  return {
    async publicPage({ query }) {
      return page(publicPage(await content(query, {}, '/')))
    },
    async agentPage({ params }) {
      const agent = await hub.agents.findRegistered(params['aid'] ?? '')
      if (agent?.row.visibility !== 'public') return page(noAgentPage(), NOT_FOUND)
      const { row } = agent
      const reputation = await hub.reviews.reputation(row.aid)
      const rating = average(reputation.ratings, reputation.reviews)
      const online = !hub.agents.isQuiet({ row })
      return page(agentPage({ row, baseUrl: baseUrl(), online, reputation, rating }))
    },
    async research({ query }) {
      return page(researchPage(await content(query, { caps: ['research'] }, '/research')))
    },
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
        federated_agents: 0,
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

const page = (document: string, status?: number) =>
  textReply('text/html; charset=utf-8', document, pageHeaders, status)

type Asked = {
  filter: Parameters<Directory['list']>[2]
  afterAid: string
  /** What is wrong with the query, as a person reads it. */
  problem: string | undefined
}

/** What the reader of a page asks for; a browser sends every field of the form, also the empty ones. */
function askedFor({ q = '', cap = '', cursor = '' }: PageQuery): Asked {
  const text = q === '' ? undefined : q
  if (q.length > WORDS_MAX) return nothing(`No agent matches; search for at most ${WORDS_MAX} characters`)
  try {
    const caps = cap === '' ? undefined : capsOf(cap)
    return { filter: { text, caps }, afterAid: cursor === '' ? '' : afterAid(cursor), problem: undefined }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return nothing(`No agent matches: ${error.message}`)
  }
}

const nothing = (problem: string): Asked => ({ filter: {}, afterAid: '', problem })

function nextHref(path: string, search: { q: string; cap: string }, next: string): string {
  const given = Object.entries(search).filter(([, value]) => value !== '')
  const query = new URLSearchParams([...given, ['cursor', Buffer.from(next).toString('base64url')]])
  return `${path}?${query}`
}
