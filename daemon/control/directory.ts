/** Agents of the hub's directory, as a search shows them and as suggestions for a name that is not a contact. */
import type { OperationReply } from '../../protocol/control/operations.ts'
import { shownLine } from '../../protocol/encoding/plain-text.ts'
import { present } from '../../protocol/encoding/present.ts'
import { isAid } from '../../protocol/identity/aid.ts'
import { cardPrices, verifyCard } from '../../protocol/identity/card.ts'
import { sleep } from '../../protocol/timers.ts'
import type { Carriers } from '../carrier/carrier.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { Contacts } from '../peers/contacts.ts'
import type { PeerBook } from '../peers/peers.ts'
import { hubRow } from '../store/hubs.ts'
import type { Store } from '../store/open.ts'
import type { Handlers } from './handlers.ts'
import { type Asker, hubAsked } from './hub-call.ts'

const FIND_LIMIT_DEFAULT = 10
const SUGGESTED_MAX = 5
/** How long a delegation waits to hear whether its recipient is listed. */
const LISTED_WAIT_MS = 1_500
const DAY_MS = 86_400_000

type Asked = Parameters<Handlers['find']>[0]
type Answered = OperationReply<'find'>

type DirectoryParts = {
  store: Store
  contacts: Contacts
  peers: PeerBook
  carriers: Carriers
}

export class Directory {
  readonly #asker: Asker
  readonly #store: Store
  readonly #contacts: Contacts
  readonly #peers: PeerBook
  readonly #carriers: Carriers
  readonly #now: () => number

  constructor(asker: Asker, parts: DirectoryParts, now: () => number) {
    this.#asker = asker
    this.#store = parts.store
    this.#contacts = parts.contacts
    this.#peers = parts.peers
    this.#carriers = parts.carriers
    this.#now = now
  }

  async find(hub: HubClient, given: Asked): Promise<Answered> {
    const aid = given.query?.trim() ?? ''
    if (given.capability === undefined && isAid(aid)) return await this.#findByAid(hub, aid, given)
    return await this.#findByWords(hub, given)
  }

  /** The hub searches its own agents alone. */
  async #findByWords(hub: HubClient, given: Asked): Promise<Answered> {
    const { query, capability, cursor, limit = FIND_LIMIT_DEFAULT } = given
    const q = query === '' ? undefined : query
    const listed = await hubAsked(this.#asker, signal =>
      hub.listAgents({ limit, signal, ...present({ q, cap: capability, cursor }) }),
    )
    const agents = listed.agents.filter(
      ({ aid }) => given.others !== true || aid !== this.#asker.identity.aid,
    )
    return {
      agents: agents.map(agent => ({
        aid: agent.aid,
        name: agent.name,
        contact: this.#contacts.petnameOf(agent.aid),
        summary: agent.summary,
        caps: agent.caps,
        ...whereIs(hub, agent.home),
        registered_at: agent.registeredAtMs,
        last_seen: agent.lastSeenMs,
        quiet: agent.quiet,
      })),
      searched: 'own_hub',
      ...present({ next_cursor: listed.next }),
    }
  }

  /** Through the buckets of the directory, in which the hub shows what its peers list, and learns nobody's name. */
  async #findByAid(hub: HubClient, aid: string, { others }: Asked): Promise<Answered> {
    const looked = await hubAsked(this.#asker, async () => {
      const answer = await this.#carriers.find(aid)
      if (answer.outcome === 'not_known' && answer.error !== undefined) throw answer.error
      return answer
    })
    if (looked.outcome !== 'found') {
      const why = looked.outcome === 'not_known' ? looked.why : undefined
      const partial = why === 'incomplete' || undefined
      const unusable = why === 'unusable' || undefined
      return { agents: [], searched: 'all_hubs', ...present({ partial, unusable }) }
    }
    const isShown = !looked.peer.log.deactivated && !(others === true && aid === this.#asker.identity.aid)
    const agent = {
      aid,
      name: '',
      contact: this.#contacts.petnameOf(aid),
      summary: '',
      caps: [],
      ...whereIs(hub, looked.peer.log.home),
      registered_at: null,
      last_seen: null,
      quiet: false,
    }
    return { agents: isShown ? [agent] : [], searched: 'all_hubs' }
  }

  /** As the agent signed them: what its hub made of the card counts for nothing. */
  async pricesOnCard(hub: HubClient, aid: string) {
    const served = await hubAsked(this.#asker, () => hub.fetchCard(aid))
    const known = served === undefined ? undefined : await this.#carriers.find(aid)
    if (served === undefined || known?.outcome !== 'found') return { prices: [] }
    // a card names the address that the hub gives itself
    const told = hubRow(this.#store, hub.url)?.baseUrl ?? (await hubAsked(this.#asker, () => hub.publicUrl()))
    const address = told ?? hub.url
    const card = verifyCard(JSON.parse(served), known.peer.log, address)
    const prices = card === undefined ? {} : cardPrices(card)
    return { prices: Object.entries(prices).map(([capability, amount]) => ({ capability, amount })) }
  }

  /** Says of an agent of whom nothing came here yet that the hub does not list it either: an AID holds no checksum. */
  async unlistedWarning(hub: HubClient | undefined, aid: string): Promise<string | undefined> {
    if (hub === undefined || this.#peers.find(aid) !== undefined) return undefined
    const limit = new AbortController()
    const isUnlisted = await Promise.race([
      this.#carriers.find(aid).then(
        ({ outcome }) => outcome === 'not_listed',
        () => false,
      ),
      sleep(this.#asker.timers, LISTED_WAIT_MS, limit.signal).then(() => false),
    ])
    limit.abort()
    if (!isUnlisted) return undefined
    const known = this.#contacts.isContact(aid)
      ? 'no correspondent of yours had this AID so far'
      : 'no contact or correspondent of yours has this AID'
    const next =
      hub.openMail === undefined
        ? 'The task waits until it is listed or you cancel it'
        : 'The hub hands the task on if one of its peers takes it; else it waits here until you cancel it'
    return `${known}, and the directory of ${hub.url} does not list it; check it. An agent of another hub has to run svc visibility federated. ${next}`
  }

  /** Up to five agents of the directory whose name fits, with the command that makes one a contact. */
  async suggestPeers(hub: HubClient | undefined, name: string): Promise<string> {
    if (hub === undefined) return ''
    try {
      const { agents } = await hubAsked(this.#asker, signal =>
        hub.listAgents({ q: name, limit: SUGGESTED_MAX, signal }),
      )
      const lines = agents.map(agent => {
        const days = Math.floor((this.#now() - agent.registeredAtMs) / DAY_MS)
        return `${shownLine(agent.name) || 'no name'} ${agent.aid} at ${hub.url}, ${days} days old: svc contact add ${agent.aid} ${name}`
      })
      return lines.length === 0
        ? '; no agent of your hub has that name'
        : `; in the directory:\n${lines.join('\n')}`
    } catch {
      return `; the directory of ${hub.url} could not be asked`
    }
  }
}

/** The hub that lists an agent, and the one where it lives, where that is another. */
const whereIs = ({ identity }: HubClient, home: string | undefined) => ({
  hub: identity.aid,
  ...present({ home: home === identity.aid ? undefined : home }),
})
