/**
 * What a requester does with prices: pays those that its rules or a person allow, by a new task with an authorization for
 * it, and judges the hub's receipts that come with the answer.
 */
import { isOwnFailure } from '../hubs/failures.ts'
import { Loop } from '../platform/loop.ts'
import type { Machine } from '../platform/machine.ts'
import type { PaymentRow } from '../store/payments.ts'
import type { Interaction } from '../store/threads.ts'
import type { HomeQuestions, HubQuestions } from './hub-questions.ts'
import type { JudgedPrices } from './judged-prices.ts'
import type { JudgedReceipts } from './judged-receipts.ts'
import type { Ordered, OrderedPrices } from './ordered-prices.ts'
import type { Pace } from './pace.ts'

const ASK_MS = 60_000

type PayerParts = {
  ordered: OrderedPrices
  prices: JudgedPrices
  receipts: JudgedReceipts
  hubs: HubQuestions
  home: HomeQuestions
  /** Whether this node may sign now. */
  maySign: () => boolean
}

export class Payer {
  readonly #ordered: OrderedPrices
  readonly #prices: JudgedPrices
  readonly #receipts: JudgedReceipts
  readonly #hubs: HubQuestions
  readonly #home: HomeQuestions
  readonly #machine: Machine
  readonly #loop: Loop

  constructor(parts: PayerParts, { machine, timings, waker }: Pace) {
    this.#ordered = parts.ordered
    this.#prices = parts.prices
    this.#receipts = parts.receipts
    this.#hubs = parts.hubs
    this.#home = parts.home
    this.#machine = machine
    this.#loop = new Loop({
      name: 'payments out',
      waker,
      log: machine.log,
      restFirstMs: timings.backoffFirstMs,
      mayRun: parts.maySign,
      turn: () => this.#turn(),
    })
  }

  start(): void {
    this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  /** Pays what a task of ours was quoted, on the word of a person; the task that was delegated anew for it. */
  pay(interaction: Interaction, given: Ordered = {}): Interaction {
    return this.#ordered.pay(interaction, given)
  }

  /** Before a person pays a price on a node that was restored: its hub is asked what lost copies have paid. */
  askForLost(interaction: Pick<Interaction, 'key'>, signal: AbortSignal): Promise<void> {
    return this.#home.askBefore(interaction, signal)
  }

  /** Everything that is due now, once, and what the hubs say to it. */
  look(): Promise<void> {
    return this.#loop.once()
  }

  /** Prices and receipts are judged in the turn; hubs are asked beside it, so that one that is silent holds up nothing. */
  #turn(): number {
    this.#hubs.reopen()
    for (const [network, rows] of this.#receipts.waiting())
      this.#loop.followAlone(`receipts of ${network}`, () => this.#judgeEach(rows))
    for (const network of this.#hubs.networks())
      this.#askBeside(network, signal => this.#hubs.ask(network, signal))
    const { home, nextInMs } = this.#home.due()
    if (home !== undefined) this.#askBeside('orders of lost copies', signal => this.#home.ask(home, signal))
    this.#prices.judgeFresh()
    return Math.min(this.#hubs.nextInMs(), nextInMs)
  }

  async #judgeEach(rows: readonly PaymentRow[]): Promise<void> {
    for (const row of rows) await this.#receipts.judge(row).catch(error => this.#noteFailed(error))
  }

  #askBeside(name: string, ask: (signal: AbortSignal) => Promise<void>): void {
    this.#loop.followAlone(name, () => {
      const within = AbortSignal.any([this.#loop.signal, this.#machine.timers.deadline(ASK_MS)])
      return ask(within).catch(error => this.#noteFailed(error))
    })
  }

  /** A hub that gave no answer is asked at the next turn. */
  #noteFailed(error: unknown): void {
    if (isOwnFailure(error)) throw error
    this.#machine.log.warn({ err: error }, 'the hub was not asked about payments')
  }
}
