/** What anybody may read: the hub, its agents with open mail, key histories, figures. */
import { buildInfo } from '../../protocol/build-info.ts'
import { toBase64 } from '../../protocol/encoding/bytes.ts'
import { encodeKel } from '../../protocol/identity/kel.ts'
import type { Hub } from '../core/hub.ts'
import { capsOf } from '../core/listing.ts'
import { Refusal } from '../core/refusal.ts'
import type { OpenMailbox } from '../store/open-mail-port.ts'
import type { AgentRow } from '../store/port.ts'
import type { Part } from './handler.ts'

type Names = 'hubIdentity' | 'healthz' | 'agents' | 'agent' | 'agentKel' | 'address' | 'stats'

export function directoryHandlers(hub: Hub): Part<Names> {
  const { openMail, agents, directory } = hub
  const { identity, store } = hub.context
  const found = async (aid = '') => {
    const known = await openMail.find(aid)
    if (known === undefined) throw new Refusal('unknownAgent')
    return known
  }
  return {
    async hubIdentity() {
      return { aid: identity.aid, kel: toBase64(encodeKel(identity.kel.events)) }
    },
    async healthz() {
      const { version, commit, builtAt } = buildInfo
      return { status: 'ok' as const, version, commit, built_at: builtAt }
    },
    async agents({ query: { cap, q } }) {
      if (cap !== undefined && q !== undefined)
        throw new Refusal('requestMalformed', { why: 'cap and q exclude each other' })
      const filter = { caps: capsOf(cap), ...(q !== undefined && { text: q }) }
      return { agents: await listed(hub, filter, cap !== undefined) }
    },
    async agent({ params }) {
      const { agent, box } = await found(params['aid'])
      return { agent: entryOf(hub, agent.row, box), reviews: [] }
    },
    async agentKel({ params: { aid = '' } }) {
      if (aid === identity.aid)
        return {
          aid,
          kel: toBase64(encodeKel(identity.kel.events)),
          source: 'local' as const,
          role: 'hub' as const,
        }
      const agent = await agents.find(aid)
      if (agent === undefined) throw new Refusal('unknownAgent')
      return { aid, kel: toBase64(agent.row.kel), source: 'local' as const }
    },
    async address({ params }) {
      const { agent, box } = await found(params['aid'])
      if (box.address === undefined) throw new Refusal('unknownAgent')
      return { aid: agent.row.aid, addr: box.address }
    },
    async stats() {
      return {
        agents: await store.openAgents(),
        federated_agents: await directory.peerAgents(),
        tasks_completed: await store.openTasks(),
        reviews: 0,
        avg_rating: 0,
      }
    },
  }
}

type Filter = { caps: string[] | undefined; text?: string }

/** Every agent that fits; the operator hides some from whoever does not name a capability. */
async function listed(hub: Hub, filter: Filter, hidesNone: boolean) {
  const entries: ReturnType<typeof entryOf>[] = []
  for (let after: string | undefined = ''; after !== undefined; ) {
    const page = await hub.directory.list(after, PAGE, { ...filter, open: true })
    for (const row of page.rows) {
      const box = await hub.context.store.openMailbox(row.number)
      if (box === undefined || hub.openMail.liveness(box) === 'abandoned') continue
      if (hidesNone || box.listed) entries.push(entryOf(hub, row, box))
    }
    after = page.next
  }
  return entries
}

const PAGE = 200

/** One agent as anybody may see it; what is not known is left out. */
function entryOf(hub: Hub, row: AgentRow, box: OpenMailbox) {
  const { polledMs, listed, guestQuota } = box
  const { name, aid, caps, summary } = row
  const isQuiet = ['quiet', 'abandoned'].includes(hub.openMail.liveness(box))
  return {
    ...{ aid, name, caps, summary, listed, guest_quota: guestQuota },
    avg_rating: 0,
    review_count: 0,
    registered_at: new Date(row.registeredDayMs).toISOString(),
    registered: row.registered,
    ...(polledMs !== undefined && { last_seen: new Date(polledMs).toISOString() }),
    ...(isQuiet && { quiet: true as const }),
  }
}
