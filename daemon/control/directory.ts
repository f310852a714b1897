/** Agents of the hub's directory, as a search shows them and as suggestions for a name that is not a contact. */
import { shownLine } from '../../protocol/encoding/plain-text.ts'
import { present } from '../../protocol/encoding/present.ts'
import { cardPrices, verifyCard } from '../../protocol/identity/card.ts'
import { sleep } from '../../protocol/timers.ts'
import type { Context } from '../context.ts'
import type { HubClient } from '../hubs/hub.ts'
import { hubRow } from '../store/hubs.ts'
import type { Handlers } from './handlers.ts'
import { hubAsked } from './hub-call.ts'

type Needs = Pick<Context, 'contacts' | 'peers' | 'hub' | 'identity' | 'now' | 'timers'>

const FIND_LIMIT_DEFAULT = 10
const SUGGESTED_MAX = 5
/** How long a delegation waits to hear whether its recipient is listed. */
const LISTED_WAIT_MS = 1_500
const DAY_MS = 86_400_000

export async function findAgents(ctx: Needs, hub: HubClient, given: Parameters<Handlers['find']>[0]) {
  const { query, capability, cursor, limit = FIND_LIMIT_DEFAULT } = given
  const q = query === '' ? undefined : query
  const listed = await hubAsked(ctx, signal =>
    hub.listAgents({ limit, signal, ...present({ q, cap: capability, cursor }) }),
  )
  const agents = listed.agents.filter(({ aid }) => given.others !== true || aid !== ctx.identity.aid)
  return {
    agents: agents.map(agent => ({
      aid: agent.aid,
      name: agent.name,
      contact: ctx.contacts.petnameOf(agent.aid),
      summary: agent.summary,
      caps: agent.caps,
      hub: hub.identity.aid,
      registered_at: agent.registeredAtMs,
      last_seen: agent.lastSeenMs,
      quiet: agent.quiet,
    })),
    ...present({ next_cursor: listed.next }),
  }
}

/** As the agent signed them: what its hub made of the card counts for nothing. */
export async function pricesOnCard(
  ctx: Needs & Pick<Context, 'store' | 'carriers'>,
  hub: HubClient,
  aid: string,
) {
  const served = await hubAsked(ctx, () => hub.fetchCard(aid))
  const known = served === undefined ? undefined : await ctx.carriers.find(aid, { fresh: true })
  if (served === undefined || known?.outcome !== 'found') return { prices: [] }
  // a card names the address that the hub gives itself
  const told = hubRow(ctx.store, hub.url)?.baseUrl ?? (await hubAsked(ctx, () => hub.publicUrl()))
  const address = told ?? hub.url
  const card = verifyCard(JSON.parse(served), known.peer.log, address)
  const prices = card === undefined ? {} : cardPrices(card)
  return { prices: Object.entries(prices).map(([capability, amount]) => ({ capability, amount })) }
}

/** Says of an agent of whom nothing came here yet that the hub does not list it either: an AID holds no checksum. */
export async function unlistedWarning(
  ctx: Needs & Pick<Context, 'carriers'>,
  aid: string,
): Promise<string | undefined> {
  const hub = ctx.hub.home
  if (hub === undefined || ctx.peers.find(aid) !== undefined) return undefined
  const limit = new AbortController()
  const isUnlisted = await Promise.race([
    ctx.carriers.find(aid, { fresh: true }).then(
      ({ outcome }) => outcome === 'not_listed',
      () => false,
    ),
    sleep(ctx.timers, LISTED_WAIT_MS, limit.signal).then(() => false),
  ])
  limit.abort()
  if (!isUnlisted) return undefined
  const known = ctx.contacts.isContact(aid)
    ? 'no correspondent of yours had this AID so far'
    : 'no contact or correspondent of yours has this AID'
  return `${known}, and the directory of ${hub.url} does not list it; check it. The task waits until it is listed or you cancel it`
}

/** Up to five agents of the directory whose name fits, with the command that makes one a contact. */
export async function suggestPeers(ctx: Needs, name: string): Promise<string> {
  const hub = ctx.hub.home
  if (hub === undefined) return ''
  try {
    const { agents } = await hubAsked(ctx, signal =>
      hub.listAgents({ q: name, limit: SUGGESTED_MAX, signal }),
    )
    const lines = agents.map(agent => {
      const days = Math.floor((ctx.now() - agent.registeredAtMs) / DAY_MS)
      return `${shownLine(agent.name) || 'no name'} ${agent.aid} at ${hub.url}, ${days} days old: svc contact add ${agent.aid} ${name}`
    })
    return lines.length === 0
      ? '; no agent in the directory has that name'
      : `; in the directory:\n${lines.join('\n')}`
  } catch {
    return `; the directory of ${hub.url} could not be asked`
  }
}
