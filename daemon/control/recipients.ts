/** To whom a task may go, and what the user should know of them. */
import { OperationRefused } from '../../protocol/control/refusal.ts'
import type { CurrentHub } from '../hubs/current.ts'
import type { Identity } from '../identity/identity.ts'
import { refuse } from '../refusal.ts'
import type { DeliveryState } from '../store/messages.ts'
import type { Store } from '../store/open.ts'
import { bytesUnanswered } from '../store/untaken.ts'
import { UNTAKEN_BYTES_MAX } from '../tasks/policies.ts'
import type { Directory } from './directory.ts'
import { waitingWarning } from './warnings.ts'

export class Recipients {
  readonly #identity: Identity
  readonly #hub: CurrentHub
  readonly #directory: Directory
  readonly #store: Store

  constructor(parts: { identity: Identity; hub: CurrentHub; directory: Directory; store: Store }) {
    this.#store = parts.store
    this.#identity = parts.identity
    this.#hub = parts.hub
    this.#directory = parts.directory
  }

  /** Refuses where this identity names no hub, from which a task could go. */
  requireHome(): void {
    if (this.#identity.log.home === undefined) refuse('no_hub', 'this node is registered at no hub')
  }

  /** Gives a task to whom a name means; of one that means nobody it says whom the directory has by that name. */
  async giving<T>(name: string, give: () => T): Promise<T> {
    try {
      return give()
    } catch (error) {
      if (!(error instanceof OperationRefused && error.code === 'unknown_peer')) throw error
      return refuse(
        'unknown_peer',
        `${error.message}${await this.#directory.suggestPeers(this.#hub.home, name)}`,
      )
    }
  }

  /** Why what was sent does not leave, or reaches nobody, as far as that is known. */
  async warning(aid: string, delivery: DeliveryState | null | undefined): Promise<string | undefined> {
    const waits = waitingWarning(this.#hub, delivery)
    return waits ?? this.#largeWarning(aid) ?? (await this.#directory.unlistedWarning(this.#hub.home, aid))
  }

  /** A hub of open mail does not know what a recipient takes of strangers, and nobody is told what it did not take. */
  #largeWarning(aid: string): string | undefined {
    if (this.#hub.home?.openMail === undefined) return undefined
    if (bytesUnanswered(this.#store, aid) <= UNTAKEN_BYTES_MAX.each) return undefined
    const mib = UNTAKEN_BYTES_MAX.each / 1024 / 1024
    return `nothing has come from this agent so far; unless it has made this node a contact, it takes ${mib} MiB at most, and drops what is larger without an answer. Ask it first, or send less`
  }

  /** The same of words in a task. */
  waits(): string | undefined {
    return waitingWarning(this.#hub)
  }
}
