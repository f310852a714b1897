/** What a payer asks hubs: what became of its payments, and after a restore what copies that are lost have signed. */
import type { CurrentHub } from '../hubs/current.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { Store } from '../store/open.ts'
import { openNetworksOf } from '../store/open-payments.ts'
import { reopenUnprovenOut } from '../store/payments.ts'
import { quoteOf } from '../store/quotes.ts'
import type { Interaction } from '../store/threads.ts'
import type { Accounts } from './accounts.ts'
import { missingSince } from './lost-orders.ts'
import type { LostQuestions } from './lost-payments.ts'
import { type OwnRefunds, type TakenRefunds, takenNetworks } from './refunds.ts'
import type { SilentPayments } from './silent-payments.ts'
import type { UnsettledHolds } from './unsettled-holds.ts'

const ROUND_MS = 3_600_000
/** A hold whose task is over is asked about soon, and then ever less often. */
const FIRST_MS = 5_000

type QuestionParts = {
  store: Store
  accounts: Accounts
  ownRefunds: OwnRefunds
  takenRefunds: TakenRefunds
  silent: SilentPayments
  unsettled: UnsettledHolds
}

/** Questions to the hub of each network in which something is open. */
export class HubQuestions {
  readonly #store: Store
  readonly #accounts: Accounts
  readonly #ownRefunds: OwnRefunds
  readonly #takenRefunds: TakenRefunds
  readonly #silent: SilentPayments
  readonly #unsettled: UnsettledHolds
  /** Payments whose end was open at the last look, and the pause that followed it. */
  #open = 0
  #pauseMs = ROUND_MS
  #hasReopened = false

  constructor({ store, accounts, ownRefunds, takenRefunds, silent, unsettled }: QuestionParts) {
    this.#store = store
    this.#accounts = accounts
    this.#ownRefunds = ownRefunds
    this.#takenRefunds = takenRefunds
    this.#silent = silent
    this.#unsettled = unsettled
  }

  /** What an earlier release took for ended without a receipt is asked about again. */
  reopen(): void {
    if (!this.#hasReopened) reopenUnprovenOut(this.#store)
    this.#hasReopened = true
  }

  /** Networks of which payments that went out, or what came back of them, are open. */
  networks(): string[] {
    const across = this.#ownRefunds.across.map(({ network }) => network)
    return [...new Set([...openNetworksOf(this.#store), ...takenNetworks(this.#store), ...across])]
  }

  async ask(network: string, signal: AbortSignal): Promise<void> {
    const hub = await this.#accounts.accountOf(network)
    if (hub === undefined) return
    await this.#takenRefunds.settle(hub, signal, this.#accounts)
    await this.#ownRefunds.askAcross(hub, signal)
    await this.#silent.ask(hub, signal)
    await this.#unsettled.ask(hub, signal)
  }

  /** In how long they are due again. */
  nextInMs(): number {
    const refunds = this.#ownRefunds.across.length + takenNetworks(this.#store).length
    const open = this.#unsettled.count() + refunds
    const isNew = open > this.#open
    this.#pauseMs = open === 0 ? ROUND_MS : isNew ? FIRST_MS : Math.min(2 * this.#pauseMs, ROUND_MS)
    this.#open = open
    return this.#pauseMs
  }
}

type HomeParts = { store: Store; hub: CurrentHub; lost: LostQuestions }

/** Questions to the home about what lost copies have signed. */
export class HomeQuestions {
  readonly #store: Store
  readonly #hub: CurrentHub
  readonly #lost: LostQuestions
  readonly #hubNow: () => number
  /** Pause before it is asked once more. */
  #pauseMs = FIRST_MS

  constructor({ store, hub, lost }: HomeParts, hubNow: () => number) {
    this.#store = store
    this.#hub = hub
    this.#lost = lost
    this.#hubNow = hubNow
  }

  /** The home where it is to be asked now, soon after a restore; and when the next look is due. */
  due(): { home: HubClient | undefined; nextInMs: number } {
    const { home } = this.#hub
    const waitMs = home === undefined ? undefined : this.#lost.dueInMs(home.identity.aid)
    if (waitMs === undefined || waitMs > 0) {
      this.#pauseMs = FIRST_MS
      return { home: undefined, nextInMs: waitMs ?? ROUND_MS }
    }
    const nextInMs = this.#pauseMs
    this.#pauseMs = Math.min(2 * nextInMs, ROUND_MS)
    return { home, nextInMs }
  }

  ask(home: HubClient, signal: AbortSignal): Promise<void> {
    return this.#lost.ask(home, signal)
  }

  /** Asks before a person pays the price of a task on a node that was restored. */
  async askBefore({ key }: Pick<Interaction, 'key'>, signal: AbortSignal): Promise<void> {
    const { home } = this.#hub
    const isOpen = quoteOf(this.#store, key)?.state === 'open'
    if (isOpen && home !== undefined && missingSince(this.#store, this.#hubNow()) !== undefined)
      await this.#lost.ask(home, signal)
  }
}
