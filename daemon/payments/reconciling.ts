/** What a person has asked at once about payments of which nothing was heard. */
import { cidText } from '../../protocol/crypto/hash.ts'
import { present } from '../../protocol/encoding/present.ts'
import { networkOf } from '../../protocol/proof/payment.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { Store } from '../store/open.ts'
import { heldForUs, unprovenOut } from '../store/open-payments.ts'
import type { Threads } from '../store/threads.ts'
import type { Holds } from './holds.ts'
import type { SilentPayments } from './silent-payments.ts'
import type { UnsettledHolds } from './unsettled-holds.ts'

type ReconcilingParts = {
  store: Store
  threads: Threads
  silent: SilentPayments
  unsettled: UnsettledHolds
  holds: Holds
}

export class Reconciling {
  readonly #store: Store
  readonly #threads: Threads
  readonly #silent: SilentPayments
  readonly #unsettled: UnsettledHolds
  readonly #holds: Holds

  constructor({ store, threads, silent, unsettled, holds }: ReconcilingParts) {
    this.#store = store
    this.#threads = threads
    this.#silent = silent
    this.#unsettled = unsettled
    this.#holds = holds
  }

  /** What became of payments of which nothing was heard, on both sides. */
  async askForReceipts(home: HubClient, signal: AbortSignal) {
    const network = networkOf(home.identity.aid)
    const asked = await this.#silent.ask(home, signal)
    const { returned, taken } = await this.#unsettled.ask(home, signal)
    for (const row of heldForUs(this.#store, network))
      if (row.state === 'ending') await this.#holds.end(row, signal)
    return { ...asked, settled: [...asked.settled, ...taken], returned, open: this.#open(network) }
  }

  /** Holds of whose end the hub has signed nothing: all for this node, and those of its own that are not told true. */
  #open(network: string) {
    const [store, threads] = [this.#store, this.#threads]
    const open = [...heldForUs(store, network), ...unprovenOut(store, network)]
    return open.map(({ interaction, payment, amount, problem }) => ({
      interaction_id: threads.byKey(interaction).id,
      transaction: cidText(payment),
      amount,
      ...present({ problem: problem ?? undefined }),
    }))
  }
}
