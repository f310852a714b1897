/**
 * The direct address of this node. A hub that lists addresses is told the one of the settings, and looked at again. One that
 * seals mail is told nothing: there the contacts are.
 */
import type { Settings } from '../home/settings.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { Identity } from '../identity/identity.ts'
import type { ToldContacts } from './told-contacts.ts'

/** How often the node looks whether a hub still lists it: one that was restored may list another. */
const LOOK_MS = 60 * 60_000

export class OwnAddress {
  readonly #identity: Identity
  readonly #settings: Settings
  readonly #contacts: ToldContacts
  readonly #now: () => number
  /** What each hub was found to list, by its address. */
  readonly #listed = new Map<string, { address: string; at: number }>()

  constructor(parts: { identity: Identity; settings: Settings; contacts: ToldContacts }, now: () => number) {
    this.#identity = parts.identity
    this.#settings = parts.settings
    this.#contacts = parts.contacts
    this.#now = now
  }

  /** The empty one is to be listed nowhere; undefined where none was ever set. */
  get #wanted(): string | undefined {
    return this.#settings.current.p2p?.address
  }

  /** Whether a hub lists the address of the settings, as it said last. */
  isListed(hub: HubClient): boolean {
    const { address = '' } = this.#listed.get(hub.url) ?? {}
    return address !== '' && address === this.#wanted
  }

  /** How many contacts know it. */
  get toldCount(): number {
    return this.#contacts.count
  }

  /** An account that is new at a hub has no address there. */
  forget(hub: HubClient): void {
    this.#listed.delete(hub.url)
  }

  /** Tells a hub where it lists another one; one that listed it a moment ago is not asked. */
  async tell(hub: HubClient): Promise<void> {
    if (hub.mail !== undefined) this.#contacts.tell()
    const [wanted, now, known] = [this.#wanted, this.#now(), this.#listed.get(hub.url)]
    if (hub.direct === undefined || wanted === undefined) return
    if (known?.address === wanted && now - known.at < LOOK_MS) return
    const listed = (await hub.direct.addressOf(this.#identity.aid)) ?? ''
    if (listed !== wanted) await hub.direct.advertise(wanted)
    this.#listed.set(hub.url, { address: wanted, at: now })
  }
}
