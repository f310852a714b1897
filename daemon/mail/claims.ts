/**
 * What a contact says that it holds of ours and we do not: either this store is older than what it sent, or the contact
 * does not tell the truth. The owner hears of the newest claim of each contact while its task goes on.
 */
import type { Contacts } from '../peers/contacts.ts'
import { counted, note } from '../store/counters.ts'
import { stateOf } from '../store/interactions.ts'
import type { Store } from '../store/open.ts'
import type { Interaction } from '../store/threads.ts'
import { isOver } from '../tasks/standing.ts'

/** Stands for a task that is not in this store. */
const UNKNOWN_TASK = -1
const nameOf = (peer: string): string => `claim:${peer}`

export class Claims {
  readonly #store: Store
  readonly #contacts: Contacts

  constructor(store: Store, contacts: Contacts) {
    this.#store = store
    this.#contacts = contacts
  }

  /** Of anybody else than a contact it is not believed. */
  note(peer: string, interaction?: Interaction): void {
    if (this.#contacts.isContact(peer)) note(this.#store, nameOf(peer), interaction?.key ?? UNKNOWN_TASK)
  }

  /** A message of that task, or after one of a task that is not here any message, claims nothing more. */
  drop({ peer, key }: Interaction): void {
    const claimed = counted(this.#store, nameOf(peer))
    if (claimed === key || claimed === UNKNOWN_TASK) note(this.#store, nameOf(peer), undefined)
  }
}

/** Whether this peer's newest claim stands. */
export function hasClaim(store: Store, peer: string): boolean {
  const claimed = counted(store, nameOf(peer))
  if (claimed <= 0) return claimed === UNKNOWN_TASK
  const state = stateOf(store, claimed)
  return state !== undefined && !isOver({ state })
}
