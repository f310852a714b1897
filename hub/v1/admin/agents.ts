/** Agents with open mail as their operator sees them, and what it does with them. */
import { buildInfo } from '../../../protocol/build-info.ts'
import { present } from '../../../protocol/encoding/present.ts'
import { MODE_SETTING } from '../../core/membership/admission.ts'
import type { Moderated } from '../../core/moderation/moderation.ts'
import { Refusal } from '../../core/refusal.ts'
import { average } from '../../core/reviews.ts'
import type { OpenMailbox } from '../../store/open-mail-port.ts'
import type { AgentRow } from '../../store/port.ts'
import { Entries } from '../entries.ts'
import { type AdminParts, type Part, timeOf } from './handler.ts'
import { limitOf, numberAfter, pageOf } from './paging.ts'

type Names =
  | 'adminOverview'
  | 'adminAgents'
  | 'adminAgent'
  | 'adminQuota'
  | 'adminModerate'
  | 'adminArchive'
  | 'adminDeleted'
  | 'adminRestore'

export function agentHandlers(parts: AdminParts): Part<Names> {
  const { hub, guard, acts } = parts
  const { moderation } = hub
  return {
    ...agentViews(parts),
    adminOverview: () => overview(parts),
    async adminQuota({ params: { aid = '' }, body: { guest_messages: quota }, address }) {
      await moderation.setGuestQuota(aid, quota)
      await acts.note(address, 'quota', aid, `takes ${quota} messages of a visitor`)
      return { aid, guest_messages: quota }
    },
    async adminModerate({ params: { aid = '' }, body: { listed, reason }, address }) {
      await moderation.list(aid, listed)
      await acts.note(address, listed ? 'list' : 'unlist', aid, reason)
      return { aid, listed }
    },
    async adminArchive({ params: { aid = '' }, query: { reason = '' }, address }) {
      await moderation.find(aid)
      guard.takeDeletion()
      const { box } = await moderation.archive(aid, reason)
      await acts.note(address, 'archive', aid, reason)
      return { aid, status: 'archived' as const, waiting: box.messages }
    },
    async adminRestore({ params: { aid = '' }, address }) {
      if (!(await moderation.restore(aid))) throw new Refusal('unknownAgent')
      await acts.note(address, 'restore', aid)
      return { aid, status: 'restored' as const }
    },
  }
}

function agentViews({ hub }: AdminParts): Part<'adminAgents' | 'adminAgent' | 'adminDeleted'> {
  const { store } = hub.context
  const entries = new Entries(hub)
  async function shown(row: AgentRow, box: OpenMailbox) {
    const [{ registered: _, guest_quota, last_seen, quiet: __, ...entry }, official] = await Promise.all([
      entries.of({ row, box }),
      store.official(row.aid),
    ])
    return {
      ...{ ...entry, guest_messages: guest_quota, waiting: box.messages },
      liveness: hub.openMail.liveness(box),
      ...present({ last_seen, badge: official?.badge }),
    }
  }
  return {
    async adminAgents({ query: { q, after = '', limit } }) {
      const filter = { open: true, ...(q !== undefined && { text: q }) }
      const { rows, next } = await hub.directory.list(after, limitOf({ limit }), filter)
      const boxes = await store.openMailboxes(rows.map(({ number }) => number))
      const known = rows.flatMap(row => {
        const box = boxes.get(row.number)
        return box === undefined ? [] : [{ row, box }]
      })
      return { items: await Promise.all(known.map(({ row, box }) => shown(row, box))), ...present({ next }) }
    },
    async adminAgent({ params: { aid = '' } }) {
      const found = await hub.moderation.find(aid)
      const { row, log } = found.agent
      const { balance, held } = await store.holdings(aid, hub.context.now())
      return {
        agent: {
          ...(await shown(row, found.box)),
          ...{ readme: row.readme, pricing: found.box.pricing, visibility: row.visibility },
          ...{ key_events: log.seq + 1, has_card: await hasCard(found) },
          credits: { balance, held },
          ...present({
            address: found.box.address,
            archived: found.archived && {
              at: timeOf(found.archived.atMs),
              reason: found.archived.reason,
            },
          }),
        },
      }
    },
    async adminDeleted({ query }) {
      const given = { before: numberAfter(query), limit: limitOf(query) + 1 }
      const rows = await hub.moderation.archivedAgents(given)
      const page = pageOf(
        rows,
        query,
        row => row,
        ({ n }) => String(n),
      )
      const boxes = await store.openMailboxes(page.items.map(({ number }) => number))
      const items = page.items.map(({ number, aid, name, atMs, reason }) => ({
        ...{ aid, name, archived_at: timeOf(atMs), reason, waiting: boxes.get(number)?.messages ?? 0 },
      }))
      return { ...page, items }
    },
  }

  async function hasCard({ agent }: Moderated): Promise<boolean> {
    return (await hub.openJoining.cardOf(agent)) !== undefined
  }
}

async function overview({ hub, isWeak }: AdminParts) {
  const { store, peers, memory, limits, identity, now } = hub.context
  const { reviews, ratings } = await hub.openReviews.totals()
  const { messages, bytes } = await store.openWaiting()
  const { issued, retired } = await store.creditTotals()
  const told = await store.openPeerCount(peers.all.map(({ aid }) => aid))
  return {
    hub: identity.aid,
    version: buildInfo.version,
    now: timeOf(now()),
    admission: (await store.setting(MODE_SETTING)) === 'open' ? ('open' as const) : ('closed' as const),
    token_published: isWeak,
    agents: {
      registered: await store.openAgents(),
      archived: await store.archivedCount(),
      official: (await store.officials()).length,
      at_peers: told,
    },
    mail: { messages, bytes, bytes_max: limits.openMailBytesMax },
    guests: { open: hub.guests.isOpen, sessions: (await memory.guests.all()).length },
    tasks: { completed: await store.openTasks(), cards: (await store.boardCards()).length },
    reviews: { count: reviews, avg_rating: average(ratings, reviews) ?? 0 },
    credits: { issued, redeemed: retired },
    peers: peers.all.length,
    store: await store.health(),
  }
}
