/** Contacts: petnames that this user gave, and the block list. A petname never changes its AID by itself. */
import { isAid } from '../../protocol/identity/aid.ts'
import { refuse } from '../refusal.ts'
import {
  aidOfPetname,
  allContacts,
  blockAgent,
  type Contact,
  contactOf,
  nameContact,
  removeContact,
  unblockAgent,
} from '../store/contacts.ts'
import type { Store } from '../store/open.ts'

export class Contacts {
  #store: Store
  #now: () => number

  constructor(store: Store, now: () => number) {
    this.#store = store
    this.#now = now
  }

  list(): Contact[] {
    return allContacts(this.#store)
  }

  find(aid: string): Contact | undefined {
    return contactOf(this.#store, aid)
  }

  petnameOf(aid: string): string | null {
    return this.find(aid)?.petname ?? null
  }

  /** Whether this user named the agent; a blocked agent is not a contact. */
  isContact(aid: string): boolean {
    const contact = this.find(aid)
    return contact !== undefined && contact.petname !== null && contact.blocked === 0
  }

  isBlocked(aid: string): boolean {
    return this.find(aid)?.blocked === 1
  }

  /** The AID of an AID text or a petname. */
  resolve(name: string): string | undefined {
    if (isAid(name)) return name
    return aidOfPetname(this.#store, name)
  }

  add(aid: string, petname: string): Contact {
    return this.#store.transaction(() => {
      const holder = this.resolve(petname)
      if (holder !== undefined && holder !== aid)
        refuse('petname_taken', `"${petname}" already names ${holder}`, `svc contact rm ${petname}`)
      nameContact(this.#store, aid, petname, this.#now())
      return this.#get(aid)
    })
  }

  remove(name: string): Contact {
    return this.#store.transaction(() => {
      const contact = this.#get(this.resolve(name) ?? name)
      removeContact(this.#store, contact.aid)
      return contact
    })
  }

  /** Blocks or unblocks an agent; a stranger can be blocked by AID. */
  block(name: string, blocked: boolean): Contact {
    return this.#store.transaction(() => {
      const aid = this.resolve(name) ?? this.#get(name).aid
      const addedAt = this.#now()
      if (blocked) blockAgent(this.#store, aid, addedAt)
      else unblockAgent(this.#store, aid)
      return this.find(aid) ?? { aid, petname: null, blocked: 0, addedAt }
    })
  }

  #get(aid: string): Contact {
    return this.find(aid) ?? refuse('unknown_contact', `"${aid}" is not a contact`)
  }
}
