/** Accounts at hubs that this node left, compared as that at its home. */
import { networkOf } from '../../protocol/proof/payment.ts'
import type { CurrentHub } from '../hubs/current.ts'
import { isOwnFailure } from '../hubs/failures.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { Store } from '../store/open.ts'
import { type AccountComparison, accountFault, keepCheckpoint } from './account.ts'
import type { Accounts } from './accounts.ts'
import type { Alarms } from './alarms.ts'
import { noteAnswer, watchedNetworks } from './previous-accounts.ts'

/** `accounts`: at every hub that knows this identity. */
export type KnownAccounts = Accounts & { accounts(): HubClient[] }

type LeftParts = {
  store: Store
  hub: CurrentHub
  accounts: KnownAccounts
  comparison: AccountComparison
  alarms: Alarms
}

export class LeftHubs {
  readonly #store: Store
  readonly #hub: CurrentHub
  readonly #accounts: KnownAccounts
  readonly #comparison: AccountComparison
  readonly #alarms: Alarms
  readonly #hubNow: () => number

  constructor({ store, hub, accounts, comparison, alarms }: LeftParts, hubNow: () => number) {
    this.#store = store
    this.#hub = hub
    this.#accounts = accounts
    this.#comparison = comparison
    this.#alarms = alarms
    this.#hubNow = hubNow
  }

  /** Those where something is open, was taken lately, or was left. */
  watched(): HubClient[] {
    const previous = this.#accounts.accounts()
    const networks = watchedNetworks(this.#store, this.#hub, { previous, nowMs: this.#hubNow() })
    return networks.flatMap(
      network => previous.find(({ identity }) => networkOf(identity.aid) === network) ?? [],
    )
  }

  /** A hub that was left may have lost what it signed, or the key of this node, as any other. */
  async compare(hub: HubClient, signal: AbortSignal): Promise<void> {
    try {
      const asked = await this.#accounts.accountOf(networkOf(hub.identity.aid))
      if (asked === undefined) return
      const account = await this.#comparison.compare(asked, signal)
      const fault = accountFault(account)
      this.#store.transaction(() => {
        if (fault === undefined) keepCheckpoint(this.#store, hub.identity.aid, account)
        else this.#alarms.raise(hub.identity.aid, fault)
        noteAnswer(this.#store, hub)
      }, 'node.audit')
    } catch (error) {
      if (!isOwnFailure(error)) noteAnswer(this.#store, hub, error)
      throw error
    }
  }
}
