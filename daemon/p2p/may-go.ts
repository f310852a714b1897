/** Whether a message may go past its hub: to contacts alone, and only where the owner said so. */
import type { Settings } from '../home/settings.ts'
import type { Contacts } from '../peers/contacts.ts'
import type { Store } from '../store/open.ts'
import { entriesAtHub, type OutboxEntry } from '../store/outbox.ts'

export type MayGoParts = {
  settings: Settings
  contacts: Contacts
  store: Store
  /** Whether this machine reaches others by way of a proxy, past which nothing goes. */
  isProxied: boolean
}

/** No message overtakes one of its task that lies at the hub. */
export function mayGo(
  { settings, contacts, store, isProxied }: MayGoParts,
  { peer, interaction, message }: OutboxEntry,
): boolean {
  if (isProxied || settings.current.p2p?.send !== true || !contacts.isContact(peer)) return false
  return interaction === null || entriesAtHub(store, interaction).every(one => one.message > message)
}
