/** What anybody may read: the hub, its agents with open mail, key histories, reviews, figures. */
import { buildInfo } from '../../protocol/build-info.ts'
import { toBase64, toBase64url } from '../../protocol/encoding/bytes.ts'
import { encodeKel } from '../../protocol/identity/kel.ts'
import type { Hub } from '../core/hub.ts'
import { capsOf } from '../core/listing.ts'
import { documentsOf } from '../core/open-reviews/documents.ts'
import { Refusal } from '../core/refusal.ts'
import { average, ofAllHubs } from '../core/reviews.ts'
import { Turns } from '../core/turns.ts'
import { Places } from '../http/places.ts'
import { textReply } from '../http/reply.ts'
import { streamedLists } from '../http/rows.ts'
import type { HeldOpenReview } from '../store/open-review-port.ts'
import { Entries, type Shown } from './entries.ts'
import type { Part } from './handler.ts'

type Names =
  | 'hubIdentity'
  | 'healthz'
  | 'agents'
  | 'agent'
  | 'agentKel'
  | 'card'
  | 'address'
  | 'addresses'
  | 'graph'
  | 'reputation'
  | 'stats'

const ELSEWHERE = 'this agent is at another hub, which told of it; what it was rated there is not known here'
const REPUTATION =
  'local is what this hub verified, peers what other hubs attest; concentration is the share of the largest source, a reviewer here or another hub'

/** Lists of all agents, of which a process writes so many at once. */
const LISTS = { places: 16, ofAddress: 2, waiting: 64, waitingOfAddress: 8 }
/** Each remembers whom it has shown. */
const GRAPHS = { places: 2, ofAddress: 1, waiting: 16, waitingOfAddress: 4 }

export function directoryHandlers(hub: Hub): Part<Names> {
  const entries = new Entries(hub)
  return {
    ...aboutHub(hub),
    ...histories(hub, entries),
    ...wholeLists(hub, entries),
    async agent({ params: { aid = '' } }) {
      const known = await hub.openMail.find(aid)
      if (known !== undefined) {
        const agent = await entries.of({ row: known.agent.row, box: known.box })
        return streamedLists({ agent }, { reviews: mapped(hub.openReviews.of(aid), shownReview) })
      }
      const told = await entries.atPeer(aid)
      if (told === undefined) throw new Refusal('unknownAgent')
      return { agent: await entries.ofPeer(told), reviews: [], note: ELSEWHERE }
    },
    async reputation({ params: { aid = '' } }) {
      const known = (await hub.openMail.find(aid)) ?? (await entries.atPeer(aid))
      if (known === undefined) throw new Refusal('unknownAgent')
      const found = await hub.openReviews.reputation(aid)
      const all = ofAllHubs(found)
      const peers = found.peers.map(peer => ({ hub: peer.hub, ...rated(peer) }))
      const concentration = all.reviews === 0 ? 0 : all.mostOfOne / all.reviews
      return {
        reputation: { aid, local: rated(found), peers, combined: rated(all), concentration },
        note: REPUTATION,
      }
    },
    async stats() {
      const { agents, told, tasks, reviews, ratings } = await hub.directory.openCounts()
      return {
        ...{ agents, federated_agents: told, tasks_completed: tasks, reviews },
        avg_rating: average(ratings, reviews) ?? 0,
      }
    },
  }
}

/** Whoever is here: read in turns, and written to a few at once. */
function wholeLists(hub: Hub, entries: Entries): Part<'agents' | 'addresses' | 'graph'> {
  const { timers } = hub.context
  const turns = new Turns(timers)
  const lists = new Places(timers, LISTS)
  const graphs = new Places(timers, GRAPHS)
  return {
    async agents({ query: { cap, q }, address }) {
      if (cap !== undefined && q !== undefined)
        throw new Refusal('requestMalformed', { why: 'cap and q exclude each other' })
      const caps = capsOf(cap)
      const agents = turns.rows(caps === undefined ? entries.listed(q) : entries.capable(caps))
      return lists.hold(address, streamedLists({}, { agents }))
    },
    async addresses({ address }) {
      return lists.hold(address, streamedLists({}, { peers: turns.rows(addressesOf(entries)) }))
    },
    async graph({ address }) {
      const edges = mapped(turns.rows(hub.openReviews.edges()), edge => ({
        ...{ from: edge.reviewer, to: edge.provider },
        ...{ interaction_id: toBase64url(edge.interaction), rating: edge.rating },
      }))
      return graphs.hold(address, streamedLists({}, { nodes: turns.rows(nodesOf(hub, entries)), edges }))
    },
  }
}

function aboutHub({ context: { identity } }: Hub): Part<'hubIdentity' | 'healthz'> {
  return {
    async hubIdentity() {
      return { aid: identity.aid, kel: toBase64(encodeKel(identity.kel.events)) }
    },
    async healthz() {
      const { version, commit, builtAt } = buildInfo
      return { status: 'ok' as const, version, commit, built_at: builtAt }
    },
  }
}

/** Key histories and direct addresses. */
function histories(hub: Hub, entries: Entries): Part<'agentKel' | 'address' | 'card'> {
  const { agents, openJoining, openMail } = hub
  const { identity, peers } = hub.context
  return {
    async agentKel({ params: { aid = '' } }) {
      const own = aid === identity.aid ? identity.kel : undefined
      const log = own ?? peers.find(aid)?.log
      if (log !== undefined) {
        const source = own === undefined ? ('peer-hub' as const) : ('local' as const)
        return { aid, kel: toBase64(encodeKel(log.events)), source, role: 'hub' as const }
      }
      const agent = await agents.find(aid)
      if (agent !== undefined) return { aid, kel: toBase64(agent.row.kel), source: 'local' as const }
      return { aid, ...(await elsewhere(hub, entries, aid)) }
    },
    async card({ params: { aid = '' } }) {
      const known = await openMail.find(aid)
      const own = known && (await openJoining.cardOf(known.agent))
      const card = own ?? (known === undefined ? (await entries.atPeer(aid))?.card : undefined)
      if (card === undefined) throw new Refusal('unknownAgent')
      return textReply('application/json', card)
    },
    async address({ params: { aid = '' } }) {
      const known = await openMail.find(aid)
      if (known?.box.address !== undefined) return { aid, addr: known.box.address }
      const told = known === undefined ? await entries.atPeer(aid) : undefined
      throw new Refusal('unknownAgent', told === undefined ? {} : { homeHub: told.hub })
    },
  }
}

/** The history of an agent of a peer: what was told of it may be of before its key was rotated. */
async function elsewhere(hub: Hub, entries: Entries, aid: string) {
  const told = (await entries.atPeer(aid))?.kel
  const shown = await hub.openFederation?.senders.find(aid)
  if (told !== undefined && told.length >= (shown?.length ?? 0))
    return { kel: toBase64(told), source: 'federated' as const }
  if (shown === undefined) throw new Refusal('unknownAgent')
  return { kel: toBase64(shown), source: 'peer-hub' as const }
}

async function* addressesOf(entries: Entries) {
  for await (const page of entries.here())
    yield page.flatMap(({ row, box }) =>
      box.address === undefined ? [] : [{ aid: row.aid, addr: box.address }],
    )
}

/** The directory, then whoever stands in a review and not there; page by page. */
async function* nodesOf(hub: Hub, entries: Entries): AsyncGenerator<Shown[]> {
  const shown = new Set<string>()
  for await (const page of entries.listed()) {
    for (const { aid } of page) shown.add(aid)
    yield page
  }
  for await (const page of hub.openReviews.edges()) {
    const named = new Set(page.flatMap(({ reviewer, provider }) => [reviewer, provider]))
    const strangers = [...named].filter(aid => !shown.has(aid))
    for (const aid of strangers) shown.add(aid)
    yield await entries.ofStrangers(strangers)
  }
}

async function* mapped<T, R>(rows: AsyncIterable<T>, change: (row: T) => R): AsyncGenerator<R> {
  for await (const row of rows) yield change(row)
}

function shownReview(review: HeldOpenReview) {
  const { goal, answer, requestCid, resultCid } = documentsOf(review)
  return {
    ...{ interaction_id: toBase64url(review.interaction), rating: review.rating, goal, deliverable: answer },
    ...{ request_cid: requestCid, result_cid: resultCid },
  }
}

const rated = ({ reviews, ratings }: { reviews: number; ratings: number }) => ({
  reviews,
  avg_rating: average(ratings, reviews) ?? 0,
})
