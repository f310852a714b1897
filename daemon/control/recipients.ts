/** To whom a task may go, and what the user should know of them. */
import { OperationRefused } from '../../protocol/control/refusal.ts'
import type { CurrentHub } from '../hubs/current.ts'
import type { Identity } from '../identity/identity.ts'
import { refuse } from '../refusal.ts'
import type { DeliveryState } from '../store/messages.ts'
import type { Directory } from './directory.ts'
import { waitingWarning } from './warnings.ts'

export class Recipients {
  readonly #identity: Identity
  readonly #hub: CurrentHub
  readonly #directory: Directory

  constructor(parts: { identity: Identity; hub: CurrentHub; directory: Directory }) {
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
    return waits ?? (await this.#directory.unlistedWarning(this.#hub.home, aid))
  }

  /** The same of words in a task. */
  waits(): string | undefined {
    return waitingWarning(this.#hub)
  }
}
