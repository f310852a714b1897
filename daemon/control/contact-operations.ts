/** Operations on contacts, with what a contact holds of this node. */
import { toBase64 } from '../../protocol/encoding/bytes.ts'
import { encodeKel } from '../../protocol/identity/kel.ts'
import type { Identity } from '../identity/identity.ts'
import type { DeliveryCapabilities } from '../peers/capabilities.ts'
import type { Contacts } from '../peers/contacts.ts'
import type { PeerBook } from '../peers/peers.ts'
import { refuse } from '../refusal.ts'
import type { Contact } from '../store/contacts.ts'
import type { Store } from '../store/open.ts'
import type { Handlers } from './handlers.ts'

/** Looks after the stock of delivery capabilities that a contact holds. */
export type Stock = { note(peer: string): void; hurry(peer: string): void }

/** Contacts, and the capabilities by which they reach this node. */
export class ContactBook {
  readonly #store: Store
  readonly #contacts: Contacts
  readonly #peers: PeerBook
  readonly #capabilities: DeliveryCapabilities
  readonly #stock: Stock

  constructor(parts: {
    store: Store
    contacts: Contacts
    peers: PeerBook
    capabilities: DeliveryCapabilities
    stock: Stock
  }) {
    this.#store = parts.store
    this.#contacts = parts.contacts
    this.#peers = parts.peers
    this.#capabilities = parts.capabilities
    this.#stock = parts.stock
  }

  list(): Contact[] {
    return this.#contacts.list()
  }

  add(aid: string, petname: string): Contact {
    const contact = this.#contacts.add(aid, petname)
    if (this.#peers.find(aid) !== undefined) this.#stock.note(aid)
    return contact
  }

  remove(peer: string): Contact {
    return this.#contacts.remove(peer)
  }

  block(peer: string): Contact {
    return this.#store.transaction(() => {
      const changed = this.#contacts.block(peer, true)
      this.#capabilities.revokeIssued(changed.aid)
      return changed
    }, 'node.block')
  }

  unblock(peer: string): Contact {
    const contact = this.#store.transaction(() => this.#contacts.block(peer, false), 'node.block')
    // what was revoked is gone; a contact again gets new ones, or it could never write
    this.#stock.hurry(contact.aid)
    return contact
  }

  /** The key history of an agent that is known here, or of a contact by its name. */
  logOf(agent: string) {
    const aid = this.#contacts.resolve(agent)
    return aid && this.#peers.find(aid)?.log
  }
}

type ContactParts = {
  identity: Identity
  book: ContactBook
  /** Screens read the contacts anew. */
  changed: () => void
  /** Looks at once at everything that waits. */
  wake: () => void
}

type ContactOperations = Pick<
  Handlers,
  'contacts' | 'contactAdd' | 'contactRemove' | 'contactBlock' | 'keyHistory'
>

export function contactOperations({ identity, book, changed, wake }: ContactParts): ContactOperations {
  const shown = (contact: Contact) => {
    changed()
    return contactView(contact)
  }
  return {
    async contacts() {
      return { contacts: book.list().map(contactView) }
    },
    async contactAdd({ aid, petname }) {
      if (aid === identity.aid) refuse('bad_request', 'this is the AID of this node itself')
      return shown(book.add(aid, petname))
    },
    async contactRemove({ peer }) {
      return { ...shown(book.remove(peer)), removed: true }
    },
    async contactBlock({ peer, blocked }) {
      if (!blocked) return shown(book.unblock(peer))
      const contact = book.block(peer)
      wake()
      return shown(contact)
    },
    async keyHistory({ agent = identity.aid }) {
      const log = agent === identity.aid ? identity.log : book.logOf(agent)
      if (!log) return refuse('unknown_peer', `no key history of "${agent}" is stored here`)
      return { aid: log.aid, kel_seq: log.seq, kel: toBase64(encodeKel(log.events)) }
    },
  }
}

const contactView = ({ aid, petname, blocked, addedAt }: Contact) => ({
  aid,
  petname,
  blocked: blocked === 1,
  added_at: addedAt,
})
