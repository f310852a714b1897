/** To whom a task may go, and what the user should know of them. */
import type { CurrentHub } from '../hubs/current.ts'
import type { Identity } from '../identity/identity.ts'
import type { Contacts } from '../peers/contacts.ts'
import { refuse } from '../refusal.ts'
import type { DeliveryState } from '../store/messages.ts'
import type { Directory } from './directory.ts'
import { waitingWarning } from './warnings.ts'

export class Recipients {
  readonly #identity: Identity
  readonly #hub: CurrentHub
  readonly #contacts: Contacts
  readonly #directory: Directory

  constructor(parts: { identity: Identity; hub: CurrentHub; contacts: Contacts; directory: Directory }) {
    this.#identity = parts.identity
    this.#hub = parts.hub
    this.#contacts = parts.contacts
    this.#directory = parts.directory
  }

  /** Refuses where this identity names no hub, from which a task could go. */
  requireHome(): void {
    if (this.#identity.log.home === undefined) refuse('no_hub', 'this node is registered at no hub')
  }

  /** The AID of a contact, or one that is given as such. */
  async resolve(name: string): Promise<string> {
    const found = this.#contacts.resolve(name)
    if (found !== undefined) return found
    const suggested = await this.#directory.suggestPeers(this.#hub.home, name)
    return refuse('unknown_peer', `"${name}" is not a contact${suggested}`)
  }

  /** Why what was sent does not leave, or reaches nobody, as far as that is known. */
  async warning(aid: string, delivery: DeliveryState | null | undefined): Promise<string | undefined> {
    const waits = waitingWarning(this.#hub, delivery)
    return waits ?? (await this.#directory.unlistedWarning(this.#hub.home, aid))
  }

  /** The same of words in a task. */
  waits(): string | undefined {
    return waitingWarning(this.#hub)
  }
}
