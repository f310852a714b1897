/** The agents for which this interface takes tasks: the node itself, and everyone to whom it sends sealed mail. */
import type { Settings } from '../home/settings.ts'
import type { Identity } from '../identity/identity.ts'
import type { Contacts } from '../peers/contacts.ts'
import { agentCard, type Offer, ownCard } from './cards.ts'
import { refuseA2a } from './errors.ts'

export class Agents {
  readonly #identity: Identity
  readonly #settings: Settings
  readonly #contacts: Contacts
  readonly #modules: { list(): readonly Offer[] }

  constructor(parts: {
    identity: Identity
    settings: Settings
    contacts: Contacts
    modules: { list(): readonly Offer[] }
  }) {
    this.#identity = parts.identity
    this.#settings = parts.settings
    this.#contacts = parts.contacts
    this.#modules = parts.modules
  }

  /** The AID that a tenant means; undefined where it is this node itself. */
  called(tenant: string): string | undefined {
    const aid = this.#contacts.resolve(tenant)
    if (aid === undefined)
      return refuseA2a('InvalidParams', `"${tenant}" is no AID and no contact; see svc contact ls`, 'tenant')
    return aid === this.#identity.aid ? undefined : aid
  }

  /** The card of an agent, or of this node; `isExtended`: for a client that has the token. */
  card(agent: string | undefined, base: string, isExtended: boolean): object {
    if (agent !== undefined) return agentCard({ aid: agent, name: this.#contacts.petnameOf(agent) }, base)
    const { name, summary } = this.#settings.current
    const offers = this.#modules.list().filter(({ published }) => isExtended || published)
    const contacts = isExtended ? this.#contacts.list().filter(({ blocked }) => !blocked) : []
    return ownCard({ aid: this.#identity.aid, name, summary, offers, contacts }, base)
  }
}
