/** Agents that the operator vouches for: their badge and place, their switches, figures, ratings, and whom they hear. */
import { present } from '../../../protocol/encoding/present.ts'
import { OpenReview } from '../../../protocol/proof/open-review.ts'
import type { Moderated } from '../../core/moderation/moderation.ts'
import { Refusal } from '../../core/refusal.ts'
import { average } from '../../core/reviews.ts'
import type { OfficialAgent } from '../../store/moderation-port.ts'
import { type AdminParts, type Part, timeOf } from './handler.ts'

type Names =
  | 'adminOfficial'
  | 'adminVouch'
  | 'adminUnvouch'
  | 'adminOps'
  | 'adminMonitor'
  | 'adminInsights'
  | 'adminAcl'

/** Reviews that one answer looks at, and how many are read at once. */
const RATINGS_MAX = 10_000
const RATINGS_PAGE = 500
const MONTH_CHARACTERS = 7

export function officialHandlers(parts: AdminParts): Part<Names> {
  const { hub, acts } = parts
  const { moderation } = hub
  const { store } = hub.context
  async function shown(official: OfficialAgent) {
    const agent = await hub.agents.find(official.aid)
    const box = agent && (await store.openMailbox(agent.row.number))
    return {
      ...{ id: official.aid, aid: official.aid, name: agent?.row.name ?? '', badge: official.badge },
      ...{ place: official.place, added_at: timeOf(official.addedMs) },
      registered: agent?.row.registered === true && agent.row.mail === 'open',
      listed: box?.listed ?? false,
      guest_messages: box?.guestQuota ?? 0,
      acl: {
        senders: official.senders === undefined ? ('anybody' as const) : ('named' as const),
        aids: [...(official.senders ?? [])],
        visitors: official.visitors,
      },
    }
  }
  return {
    ...officialViews(parts),
    async adminOfficial() {
      return { items: await Promise.all((await store.officials()).map(shown)) }
    },
    async adminVouch({ body: { aid, badge, place }, address }) {
      const { official, isNew } = await moderation.vouch(aid, { badge, place })
      await acts.note(address, isNew ? 'vouch' : 'change', aid, official.badge)
      return { official: await shown(official) }
    },
    async adminUnvouch({ params: { id = '' }, address }) {
      if (!(await store.removeOfficial(id))) throw new Refusal('unknownAgent')
      await acts.note(address, 'unvouch', id)
      return { id, status: 'removed' as const }
    },
    async adminOps({ params: { id = '' }, body, address }) {
      const { listed, guest_messages: quota, badge, place } = body
      await moderation.official(id)
      if (listed !== undefined) await moderation.list(id, listed)
      if (quota !== undefined) await moderation.setGuestQuota(id, quota)
      const { official } = await moderation.vouch(id, { badge, place })
      await acts.note(address, 'ops', id, JSON.stringify(body))
      return { official: await shown(official) }
    },
    async adminAcl({ params: { id = '' }, body: { senders, aids, visitors }, address }) {
      await moderation.official(id)
      const given = { senders: senders === 'named' ? aids : ('anybody' as const), visitors }
      const { official } = await moderation.vouch(id, given)
      const whom = senders === 'named' ? `${aids.length} named senders` : 'anybody'
      await acts.note(address, 'acl', id, `hears ${whom}, ${visitors ? 'takes' : 'no'} visitors`)
      return { official: await shown(official) }
    },
  }
}

function officialViews({ hub }: AdminParts): Part<'adminMonitor' | 'adminInsights'> {
  const { store, memory, now } = hub.context
  const monitors = {
    mail: async ({ box }: Moderated) => ({
      waiting: box.messages,
      liveness: hub.openMail.liveness(box),
      listed: box.listed,
      ...present({ last_seen: box.polledMs === undefined ? undefined : timeOf(box.polledMs) }),
    }),
    guests: async ({ agent, box }: Moderated) => {
      const own = (await memory.guests.all()).filter(({ handler }) => handler === agent.row.aid)
      const isHeld = ({ state }: { state: string }) => state !== 'ended'
      return { guest_messages: box.guestQuota, sessions: own.length, open: own.filter(isHeld).length }
    },
    credits: async ({ agent }: Moderated) => {
      const { balance, held } = await store.holdings(agent.row.aid, now())
      return { balance, held }
    },
    reviews: async ({ agent }: Moderated) => {
      const { reviews, ratings } = await store.openReputation(agent.row.aid)
      return { reviews, avg_rating: average(ratings, reviews) ?? 0 }
    },
  }
  return {
    async adminMonitor({ params: { id = '', what = '' } }) {
      await hub.moderation.official(id)
      if (!Object.hasOwn(monitors, what)) throw new Refusal('resourceUnknown')
      const figures = await monitors[what as keyof typeof monitors](await hub.moderation.find(id))
      return { id, what, at: timeOf(now()), figures }
    },
    async adminInsights({ params: { id = '' } }) {
      await hub.moderation.official(id)
      const { reviews, ratings } = await store.openReputation(id)
      const { months, isWhole } = await monthsOf(id)
      return { id, reviews, avg_rating: average(ratings, reviews) ?? 0, truncated: !isWhole, months }
    },
  }

  /** By the months that the reviewers signed, the first month first. */
  async function monthsOf(provider: string) {
    const found = new Map<string, { reviews: number; ratings: number }>()
    let read = 0
    for (let after = 0; ; ) {
      const page = await store.openRatings({ provider, after, limit: RATINGS_PAGE })
      for (const { rating, review } of page) {
        const month = timeOf(OpenReview.decode(review).body.ts).slice(0, MONTH_CHARACTERS)
        const held = found.get(month) ?? { reviews: 0, ratings: 0 }
        found.set(month, { reviews: held.reviews + 1, ratings: held.ratings + rating })
      }
      read += page.length
      const last = page.at(-1)
      if (last === undefined || read >= RATINGS_MAX) {
        const months = [...found.entries()].sort().map(([month, { reviews, ratings }]) => ({
          ...{ month, reviews, avg_rating: average(ratings, reviews) ?? 0 },
        }))
        return { months, isWhole: last === undefined }
      }
      after = last.fedSeq
    }
  }
}
