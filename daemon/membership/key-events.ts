/** The end of a key, or of the identity: durable first, then told to every hub until each has it. */
import type { Timers } from '../../protocol/timers.ts'
import type { CurrentHub } from '../hubs/current.ts'
import { describe } from '../hubs/failures.ts'
import { within } from '../platform/within.ts'
import type { Accounts } from './accounts.ts'
import type { KeyState } from './key-state.ts'
import { HUB_WAIT_MS } from './newest.ts'
import type { Sync } from './sync.ts'

type KeyEventsParts = {
  hub: CurrentHub
  keyState: KeyState
  sync: Sync
  accounts: Accounts
  timers: Timers
}

export class KeyEvents {
  readonly #parts: KeyEventsParts
  readonly #wakeMail: () => void

  constructor(parts: KeyEventsParts, wakeMail: () => void) {
    this.#parts = parts
    this.#wakeMail = wakeMail
  }

  /** Rotates the identity key and tells every hub of it; why the home does not know of it yet, where it does not. */
  async rotate(signal: AbortSignal): Promise<string | undefined> {
    const { hub, keyState, accounts } = this.#parts
    await this.#askTime()
    keyState.rotate(hub.last)
    hub.last?.mail?.dropSession()
    this.#wakeMail()
    const untold = await this.#tellHome(signal)
    await accounts.pushToPrevious()
    return untold
  }

  /** Ends the identity; gives what {@link rotate} gives. */
  async deactivate(signal: AbortSignal): Promise<string | undefined> {
    const { hub, keyState, accounts } = this.#parts
    await this.#askTime()
    keyState.deactivate(hub.last)
    this.#wakeMail()
    const [untold] = await Promise.all([this.#tellHome(signal), accounts.pushToPrevious()])
    return untold
  }

  /** A key event is for good: a hub that has not told its time since the start is asked for it before one is dated. */
  async #askTime(): Promise<void> {
    const { last } = this.#parts.hub
    if (last === undefined || last.knownTimeMs !== undefined) return
    await within(
      this.#parts.timers,
      HUB_WAIT_MS,
      last.refresh().catch(() => undefined),
    )
  }

  async #tellHome(signal: AbortSignal): Promise<string | undefined> {
    try {
      await this.#parts.sync.run({ signal, profile: false })
      return undefined
    } catch (error) {
      return describe(error)
    }
  }
}
