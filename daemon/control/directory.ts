/** Agents of the hub's directory, as a search shows them and as suggestions for a name that is not a contact. */
import { shownLine } from '../../protocol/encoding/plain-text.ts'
import { present } from '../../protocol/encoding/present.ts'
import type { Context } from '../context.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { Handlers } from './handlers.ts'
import { hubCall } from './hub-call.ts'

type Needs = Pick<Context, 'contacts' | 'hub' | 'identity' | 'now'>

const FIND_LIMIT_DEFAULT = 10
const SUGGESTED_MAX = 5
const DAY_MS = 86_400_000

export async function findAgents(ctx: Needs, hub: HubClient, given: Parameters<Handlers['find']>[0]) {
  const { query, capability, cursor, limit = FIND_LIMIT_DEFAULT } = given
  const q = query === '' ? undefined : query
  const listed = await hubCall(ctx.identity, () =>
    hub.listAgents({ limit, ...present({ q, cap: capability, cursor }) }),
  )
  return {
    agents: listed.agents.map(agent => ({
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

/** Up to five agents of the directory whose name fits, with the command that makes one a contact. */
export async function suggestPeers(ctx: Needs, name: string): Promise<string> {
  const hub = ctx.hub.home
  if (hub === undefined) return ''
  try {
    const { agents } = await hub.listAgents({ q: name, limit: SUGGESTED_MAX })
    const lines = agents.map(agent => {
      const days = Math.floor((ctx.now() - agent.registeredAtMs) / DAY_MS)
      return `${shownLine(agent.name) || 'no name'} ${agent.aid} at ${hub.url}, ${days} days old: svc contact add ${agent.aid} ${name}`
    })
    return lines.length === 0
      ? '; no agent in the directory has that name'
      : `; in the directory:\n${lines.join('\n')}`
  } catch {
    return ''
  }
}
