/** How this node stands at its hubs: what a start does first, and everything of this room in one place. */
import type { Logger } from 'pino'
import type { CurrentHub } from '../hubs/current.ts'
import { describe } from '../hubs/failures.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { Waker } from '../platform/waker.ts'
import type { Accounts } from './accounts.ts'
import type { HomeHub, Left } from './home-hub.ts'
import type { Joined, Joining, JoinOptions } from './joining.ts'
import type { KeyEvents } from './key-events.ts'
import type { KeyState } from './key-state.ts'
import type { KnownHubs } from './known-hubs.ts'
import type { Newest, WaitingMail } from './newest.ts'
import type { OwnAddress } from './own-address.ts'
import type { Rounds } from './rounds.ts'

/** What a start does with the hub of the store, before anything is signed. */
export class Beginning {
  readonly #hub: CurrentHub
  readonly #known: KnownHubs
  readonly #newest: Newest
  readonly #keyState: KeyState
  readonly #log: Logger
  readonly #begun = Promise.withResolvers<void>()

  constructor(parts: {
    hub: CurrentHub
    known: KnownHubs
    newest: Newest
    keyState: KeyState
    log: Logger
  }) {
    this.#hub = parts.hub
    this.#known = parts.known
    this.#newest = parts.newest
    this.#keyState = parts.keyState
    this.#log = parts.log
  }

  /** Takes up the hub of the store. */
  open(): void {
    const home = this.#known.home()
    if (home !== undefined) this.#hub.settleAt(home)
    this.#hub.comparing = this.#begun.promise
  }

  /** Asks the hub what it holds of us, then does what a crash or a failure interrupted. */
  async begin(): Promise<void> {
    await this.#newest.atStart()
    this.#resume()
    this.#hub.comparing = undefined
    this.#begun.resolve()
  }

  /** What a crash or a failure interrupted; what it lacks is said, not fatal. */
  #resume(): void {
    const hub = this.#hub
    if (hub.oldCopy !== undefined || hub.unsettled !== undefined) return
    try {
      this.#keyState.settle(hub.last)
    } catch (error) {
      hub.noteRefused(describe(error))
      this.#log.error({ err: error }, 'a key event is not followed up')
    }
  }
}

export type MembershipParts = {
  beginning: Beginning
  newest: Newest
  joining: Joining
  keyEvents: KeyEvents
  accounts: Accounts
  rounds: Rounds
  home: HomeHub
  address: OwnAddress
}

/** All of this in one place, for those who order it. */
export class Membership {
  readonly #parts: MembershipParts
  readonly #hub: CurrentHub
  readonly #nextRound: Waker

  constructor(parts: MembershipParts, hub: CurrentHub, nextRound: Waker) {
    this.#parts = parts
    this.#hub = hub
    this.#nextRound = nextRound
  }

  /** Takes up the hub of the store; until {@link begin} has ended nothing is signed. */
  open(): void {
    this.#parts.beginning.open()
  }

  begin(): Promise<void> {
    return this.#parts.beginning.begin()
  }

  /** Resolves once the hub has answered to the question of the start. */
  asked(signal: AbortSignal): Promise<void> {
    return this.#parts.newest.asked(signal)
  }

  /** Of a directory that came from an archive, or was in use elsewhere. */
  settle(mail: WaitingMail, signal: AbortSignal): Promise<void> {
    return this.#parts.newest.settle(mail, signal)
  }

  join(url: string, signal: AbortSignal, options?: JoinOptions): Promise<Joined> {
    return this.#parts.joining.join(url, signal, options)
  }

  leave(url: string | undefined): Promise<Left> {
    return this.#parts.home.leave(url)
  }

  rotate(signal: AbortSignal): Promise<string | undefined> {
    return this.#parts.keyEvents.rotate(signal)
  }

  deactivate(signal: AbortSignal): Promise<string | undefined> {
    return this.#parts.keyEvents.deactivate(signal)
  }

  pushToPrevious(): Promise<void> {
    return this.#parts.accounts.pushToPrevious()
  }

  account(url: string): Promise<HubClient> {
    return this.#parts.accounts.at(url)
  }

  accountOf(network: string): Promise<HubClient | undefined> {
    return this.#parts.accounts.of(network)
  }

  accounts(): HubClient[] {
    return this.#parts.accounts.all()
  }

  draining(): HubClient[] {
    return this.#parts.accounts.draining()
  }

  /** Has a hub list the direct address of the settings, or none where that is empty; or the contacts know it. */
  tellAddress(hub: HubClient): Promise<void> {
    return this.#parts.address.tell(hub)
  }

  /** Whether the home lists it, as it said last. */
  get isAddressListed(): boolean {
    const { home } = this.#hub
    return home !== undefined && this.#parts.address.isListed(home)
  }

  /** How many contacts were told it, sealed. */
  get addressToldCount(): number {
    return this.#parts.address.toldCount
  }

  keepInSync(signal: AbortSignal): Promise<boolean> {
    return this.#parts.rounds.keepInSync(signal)
  }

  /** Looks at once whether a hub of another wire speaks ours again; true where this node talks to it. */
  async lookAgain(): Promise<boolean> {
    const { last } = this.#hub
    if (last?.stopped === undefined) return last !== undefined
    if (!(await this.#parts.home.isBack())) return false
    this.#nextRound.wake()
    return true
  }
}
