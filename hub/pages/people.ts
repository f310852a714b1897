/** The pages of a hub for people: its front, its research view, and one for each public agent. */

import { shownLine } from '../../protocol/encoding/plain-text.ts'
import type { About } from '../core/about.ts'
import type { Directory } from '../core/directory.ts'
import type { Hub } from '../core/hub.ts'
import { afterAid, capsOf, cursorOf } from '../core/listing.ts'
import { MODE_SETTING } from '../core/membership/admission.ts'
import { Refusal } from '../core/refusal.ts'
import { average } from '../core/reviews.ts'
import { type Streamed, textReply } from '../http/reply.ts'
import type { AgentRow } from '../store/port.ts'
import { type AgentLinks, agentPage, noAgentPage, noSuchPage } from './agent-page.ts'
import { pageHeaders } from './page-frame.ts'
import { directoryPage, type Figures, type PageContent, publicPage, researchPage } from './public-page.ts'

const SHOWN = 25
const WORDS_MAX = 256
const NOT_FOUND = 404
const NOBODY = { badges: new Map<string, string>(), first: [] }

export type PageQuery = { q?: string | undefined; cap?: string | undefined; cursor?: string | undefined }

type Filter = Parameters<Directory['list']>[2]

/** The agents that pages show, and figures of them. */
type ShownAgents = {
  list(after: string, limit: number, filter: Filter): Promise<{ rows: AgentRow[]; next: string | undefined }>
  figures(): Promise<Figures>
}

/**
 * Agents whose mail the hub can read; `joinWith`: what the command of joining takes beside a name; `guestsAt`: where people
 * without an account talk to one of them.
 */
type OpenAgents = ShownAgents & {
  joinWith: string
  guestsAt: string | undefined
  /** What the operator says of those that it vouches for, by AID, and at most so many of them that are listed, by place. */
  officials(max: number): Promise<{ badges: ReadonlyMap<string, string>; first: AgentRow[] }>
}

export type PagesGiven = {
  hub: Hub
  baseUrl: () => string
  about: About
  /** Whether the documents of svc are served beside them. */
  hasDocuments: boolean
  links: AgentLinks
  /** Where the pages are about these, and not about agents whose mail is sealed. */
  open?: OpenAgents
}

export type PeoplePages = {
  front(query: PageQuery): Promise<Streamed>
  research(query: PageQuery): Promise<Streamed>
  agent(aid: string): Promise<Streamed>
}

/** Pages that each line serves under paths of its own. */
export function peoplePages({ hub, baseUrl, about, hasDocuments, links, open }: PagesGiven): PeoplePages {
  const { list, figures } = open ?? sealedAgents(hub)
  const content = async (query: PageQuery, filter: Filter, path: string): Promise<PageContent> => {
    const asked = askedFor(query)
    const { badges, first } = (await open?.officials(isFirst(query) ? SHOWN : 0)) ?? NOBODY
    const { rows, next } =
      asked.problem === undefined
        ? await list(asked.afterAid, SHOWN, { ...asked.filter, ...filter })
        : { rows: [], next: undefined }
    return {
      baseUrl: baseUrl(),
      aid: hub.context.identity.aid,
      admission: (await hub.context.store.setting(MODE_SETTING)) === 'open' ? 'open' : 'closed',
      figures: await figures(),
      isOpen: open !== undefined,
      joinWith: open?.joinWith ?? '',
      pageOf: links.page,
      agents: [...first, ...rows.filter(({ aid }) => !first.some(one => one.aid === aid))],
      badges,
      search: { q: shownLine(query.q ?? ''), cap: shownLine(query.cap ?? '') },
      problem: asked.problem,
      about,
      peers: hub.context.peers.all.map(({ aid, url }) => ({
        url,
        isAway: hub.context.peers.contact(aid).fault !== undefined,
      })),
      hasDocuments,
      guestsAt: open?.guestsAt,
      nextHref:
        next === undefined ? undefined : nextHref(path, { q: query.q ?? '', cap: query.cap ?? '' }, next),
    }
  }
  return {
    front: async query => page(publicPage(await content(query, {}, '/'))),
    research: async query =>
      open === undefined
        ? page(researchPage(await content(query, { caps: ['research'] }, '/research')))
        : page(directoryPage(await content(query, {}, '/research'))),
    async agent(aid) {
      const agent = await hub.agents.findShown(aid)
      if (agent?.row.visibility !== 'public') return page(noAgentPage(), NOT_FOUND)
      const { row } = agent
      const reputation = await hub.reviews.reputation(row.aid)
      const online = !hub.agents.isQuiet({ row })
      const urlOf = (peer: string) => hub.context.peers.find(peer)?.url
      return page(agentPage({ row, baseUrl: baseUrl(), online, reputation, urlOf, links }))
    },
  }
}

/** A page of all agents from the beginning, where nothing is searched for. */
const isFirst = ({ q = '', cap = '', cursor = '' }: PageQuery): boolean => `${q}${cap}${cursor}` === ''

/** Those who chose to be public. */
const sealedAgents = ({ directory }: Hub): ShownAgents => ({
  list: (after, limit, filter) => directory.list(after, limit, { ...filter, onlyPublic: true }),
  async figures() {
    const { agents, onlineAgents, reviews, ratings } = await directory.counts()
    return { agents, onlineAgents, reviews, rating: average(ratings, reviews) }
  },
})

/** What a browser is shown at an address where nothing is, with the headers of every page. */
export const wrongAddress = (): { document: string; headers: Record<string, string> } => ({
  document: noSuchPage(),
  headers: { ...pageHeaders, 'Content-Type': 'text/html; charset=utf-8' },
})

const page = (document: string, status?: number) =>
  textReply('text/html; charset=utf-8', document, pageHeaders, status)

type Asked = {
  filter: Filter
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
  const query = new URLSearchParams([...given, ['cursor', cursorOf(next)]])
  return `${path}?${query}`
}
