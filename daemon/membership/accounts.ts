/** The accounts of this identity: at its home, and at hubs that were home or were left. */
import { networkOf } from '../../protocol/proof/payment.ts'
import type { CurrentHub } from '../hubs/current.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { KeyState } from './key-state.ts'
import type { KnownHubs } from './known-hubs.ts'
import type { OwnAddress } from './own-address.ts'
import type { PushedLog } from './push-log.ts'

export class Accounts {
  readonly #hub: CurrentHub
  readonly #known: KnownHubs
  readonly #pushedLog: PushedLog
  readonly #address: OwnAddress
  readonly #keyState: KeyState
  readonly #now: () => number

  constructor(parts: {
    hub: CurrentHub
    known: KnownHubs
    pushedLog: PushedLog
    address: OwnAddress
    keyState: KeyState
    now: () => number
  }) {
    this.#hub = parts.hub
    this.#known = parts.known
    this.#pushedLog = parts.pushedLog
    this.#address = parts.address
    this.#keyState = parts.keyState
    this.#now = parts.now
  }

  /** The hub at an address, for the account there: told of every key event, also where this node left it. */
  async at(url: string): Promise<HubClient> {
    const address = url.replace(/\/+$/, '')
    const { home } = this.#hub
    if (home?.url === address) return home
    const found = await this.#known.at(address)
    if (home?.identity.aid === found.identity.aid) return home
    await found.refresh()
    await this.#pushedLog.to(found)
    return found
  }

  /** The hub whose credits a network is, told of every key event; undefined where there is no account. */
  async of(network: string): Promise<HubClient | undefined> {
    const hub = this.all().find(({ identity }) => networkOf(identity.aid) === network)
    if (hub === undefined || hub === this.#hub.last) return hub
    await hub.refresh()
    await this.#pushedLog.to(hub)
    return hub
  }

  /** Every hub that has an account of this identity. */
  all(): HubClient[] {
    const { last } = this.#hub
    const all = [...(last === undefined ? [] : [last]), ...this.#known.previous(0), ...this.#known.left()]
    return [...new Map(all.toReversed().map(hub => [hub.identity.aid, hub])).values()].toReversed()
  }

  /** Those beside the home. */
  others(): HubClient[] {
    return this.all().filter(hub => hub !== this.#hub.home)
  }

  /** Hubs whose mailbox is still emptied after a move. */
  draining(): HubClient[] {
    return this.#keyState.isEnded ? [] : this.#known.previous(this.#now())
  }

  /** Tells previous hubs of key events and of an address that they have not seen: of a move while they are emptied, of the end always. */
  async pushToPrevious(): Promise<void> {
    const known = this.#known
    const told = this.#keyState.isEnded
      ? [...known.previous(0), ...known.left()]
      : known.previous(this.#now())
    // one that is home by another wire is told there
    const home = this.#hub.last?.identity.aid
    const others = told.filter(({ identity }) => identity.aid !== home)
    await this.#pushedLog.toAll(others)
    await Promise.all(others.map(hub => this.#address.tell(hub).catch(() => undefined)))
  }
}
