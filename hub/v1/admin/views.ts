/** What the operator looks at: capabilities, agents at peers, the network, the store, visitors, reviews, cards, acts. */
import { toBase64url } from '../../../protocol/encoding/bytes.ts'
import { present } from '../../../protocol/encoding/present.ts'
import type { Visit } from '../../core/guests/visits.ts'
import { capsOf } from '../../core/listing.ts'
import { Refusal } from '../../core/refusal.ts'
import { type AdminParts, type Part, timeOf } from './handler.ts'
import { limitOf, numberAfter, pageOf, pageWithin } from './paging.ts'

type Names =
  | 'adminCapabilities'
  | 'adminDiscover'
  | 'adminStore'
  | 'adminSessions'
  | 'adminSession'
  | 'adminReviews'
  | 'adminTasks'
  | 'adminAudit'
  | 'adminHarvest'

const EVERY_CAP = ['*']

export function viewHandlers(parts: AdminParts): Part<Names> {
  return { ...ofNetwork(parts), ...ofSessions(parts), ...ofWork(parts) }
}

function ofNetwork({
  hub,
  acts,
}: AdminParts): Part<'adminCapabilities' | 'adminDiscover' | 'adminStore' | 'adminHarvest'> {
  const { store, peers, limits } = hub.context
  return {
    async adminCapabilities({ query }) {
      const rows = await store.openCaps({ after: query.after ?? '', limit: limitOf(query) + 1 })
      return pageOf(
        rows,
        query,
        row => ({ ...row }),
        ({ cap }) => cap,
      )
    },
    async adminDiscover({ query }) {
      const { agents, next } = await store.openPeerAgents({
        hubs: peers.all.map(({ aid }) => aid),
        after: numberAfter(query) ?? 0,
        limit: limitOf(query),
        caps: capsOf(query.cap) ?? EVERY_CAP,
      })
      const items = agents.map(({ aid, name, caps, summary, hub: home }) => ({
        ...{ aid, name, caps, summary, home_hub: home },
      }))
      return { items, ...present({ next: next === undefined ? undefined : String(next) }) }
    },
    async adminStore() {
      const [health, room, open, totals, faults] = await Promise.all([
        store.health(),
        store.local?.room(),
        store.openWaiting(),
        store.totals(),
        store.check(),
      ])
      return {
        ...{ health, faults, open: { ...open, bytes_max: limits.openMailBytesMax } },
        ...present({
          room: room && { disk_bytes: room.disk, row_bytes: Math.max(0, Math.floor(room.rows)) },
        }),
        sealed: { mailboxes: totals.mailboxes, envelopes: totals.envelopes, bytes: totals.bytes },
      }
    },
    async adminHarvest({ address }) {
      const startedMs = hub.context.now()
      await hub.readPeersNow()
      await acts.note(address, 'harvest', '', `${peers.all.length} peers`)
      const reached = (aid: string) =>
        (peers.contact(aid).answeredMs ?? Number.NEGATIVE_INFINITY) >= startedMs
      return { peers: peers.all.map(({ aid }) => ({ hub: aid, reached: reached(aid) })) }
    },
  }
}

const states = { open: 'open', endRequested: 'end_requested', ended: 'ended' } as const

const shownVisit = (visit: Visit) => ({
  source: 'guest' as const,
  id: visit.name,
  handler: visit.handler,
  state: states[visit.state],
  ...{ sent: visit.sent, remaining: visit.remaining, unread: visit.unread },
  seen_at: timeOf(visit.seenMs),
})

function ofSessions({ hub }: AdminParts): Part<'adminSessions' | 'adminSession'> {
  return {
    adminSessions: async ({ query }) => pageWithin(await hub.guests.visits(), query, shownVisit),
    async adminSession({ params: { source, id } }) {
      const found =
        source === 'guest' ? (await hub.guests.visits()).find(({ name }) => name === id) : undefined
      if (found === undefined) throw new Refusal('resourceUnknown')
      const handler = await hub.agents.find(found.handler)
      return { session: { ...shownVisit(found), handler_name: handler?.row.name ?? '' } }
    },
  }
}

function ofWork({ hub }: AdminParts): Part<'adminReviews' | 'adminTasks' | 'adminAudit'> {
  const { store } = hub.context
  return {
    async adminReviews({ query }) {
      const after = numberAfter(query) ?? 0
      const rows = await store.openReviewEdges({ after, limit: limitOf(query) + 1 })
      return pageOf(
        rows,
        query,
        ({ fedSeq, interaction, provider, reviewer, rating }) => ({
          ...{ seq: fedSeq, interaction_id: toBase64url(interaction), provider, reviewer, rating },
        }),
        ({ fedSeq }) => String(fedSeq),
      )
    },
    async adminTasks({ query }) {
      const cards = await store.boardCards()
      const own = cards.filter(({ column }) => query.column === undefined || column === query.column)
      return pageWithin(own, query, card => ({
        ...{ id: card.id, title: card.title, state: card.state, column: card.column },
        creator_aid: card.creator,
        ...present({ assignee_aid: card.assignee }),
        ...{ created_at: card.createdMs, updated_at: card.updatedMs },
      }))
    },
    async adminAudit({ query }) {
      const rows = await store.acts({ before: numberAfter(query), limit: limitOf(query) + 1 })
      return pageOf(
        rows,
        query,
        ({ n, atMs, who, action, subject, detail }) => ({
          n,
          at: timeOf(atMs),
          who,
          action,
          subject,
          detail,
        }),
        ({ n }) => String(n),
      )
    },
  }
}
