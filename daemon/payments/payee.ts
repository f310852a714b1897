/**
 * What a provider does for a price: row of the spent set, hold, work, then one order that takes the credits or gives them
 * back. Each step is on the disk before the next, so that a call is paid once and run once whatever dies between.
 */
import { present } from '../../protocol/encoding/present.ts'
import { buildEffect, Effect } from '../../protocol/proof/effect.ts'
import { Authorization, hubOfNetwork, networkOf, transactionOf } from '../../protocol/proof/payment.ts'
import type { Quote } from '../../protocol/proof/quote.ts'
import { sleep } from '../../protocol/timers.ts'
import type { CurrentHub } from '../hubs/current.ts'
import type { Identity } from '../identity/identity.ts'
import { attemptEach, Loop } from '../platform/loop.ts'
import type { Machine } from '../platform/machine.ts'
import type { Timings } from '../platform/timings.ts'
import type { Store } from '../store/open.ts'
import {
  abandonedPayments,
  doubtedHolds,
  lapsedHolds,
  nextPaymentAt,
  openOrders,
  storedEnds,
} from '../store/open-payments.ts'
import {
  addPayment,
  isSilence,
  keepOrder,
  keepOutcome,
  markBegun,
  type PaymentRow,
  paymentById,
  paymentOf,
  receiptsForPayer,
  reopenUnproven,
} from '../store/payments.ts'
import { lastRestore } from '../store/restores.ts'
import type { Interaction, Threads } from '../store/threads.ts'
import type { Holds } from './holds.ts'
import { mayAsk, maySign } from './may-sign.ts'
import type { HoldOrders } from './orders.ts'
import type { Pace } from './pace.ts'
import { offerFault, offerOf, quoteEffect } from './price-check.ts'

/** What a call is answered with: after its payment with the hub's receipts, or with the price in its place. */
export type PaidAnswer = {
  effect: Effect
  isPrivate?: boolean
  quote?: Quote
  settlements?: Uint8Array[]
}

/** A hub that is silent is asked again until the payment can no longer be good. */
const AFTER_EXPIRY_MS = 4 * 60_000
/** A result waits for the hub's word that the credits are taken for as long as so many first pauses: a minute. */
const ORDER_WAITS = 30
const ROUND_MS = 60_000
const SHORTEST_MS = 1000
const ORDERS_MAX = 64
/** What cannot be finished so long before its hold lapses is not begun. */
const MARGIN_MS = 10 * 60_000
/** The hub's clock may be behind by so much. */
const AFTER_LAPSE_MS = 5 * 60_000
const SILENT = 'the hub did not answer while the payment was good'

/** What work is worth to its provider: its price, the price of its start where it was withdrawn after that, or nothing. */
function takenFor(
  { state, endBy }: Pick<Interaction, 'state' | 'endBy'>,
  { amount, starts, beganAt }: PaymentRow,
  isDone: boolean,
): number {
  // a requester that ends what is not answered withdraws it
  const isEnded = (state === 'end_proposed' || state === 'ended') && endBy === 'peer'
  const isWithdrawn = state === 'cancelled' || isEnded
  if (isWithdrawn) return beganAt === null ? 0 : (starts ?? 0)
  return isDone && (state === 'open' || state === 'end_proposed') ? amount : 0
}

type PayeeParts = {
  identity: Identity
  hub: CurrentHub
  store: Store
  threads: Threads
  orders: HoldOrders
  holds: Holds
}

export class Payee {
  readonly #store: Store
  readonly #threads: Threads
  readonly #orders: HoldOrders
  readonly #hub: CurrentHub
  readonly #maySign: () => boolean
  readonly #machine: Machine
  readonly #timings: Timings
  readonly #hubNow: () => number
  readonly #holds: Holds
  readonly #loop: Loop
  /** Tasks whose result waits for the hub's word. */
  readonly #finishing = new Set<number>()
  #hasReopened = false

  constructor(parts: PayeeParts, { machine, timings, hubNow, waker }: Pace) {
    this.#store = parts.store
    this.#threads = parts.threads
    this.#orders = parts.orders
    this.#holds = parts.holds
    this.#hub = parts.hub
    this.#maySign = () => maySign(parts.identity, parts.hub)
    this.#machine = machine
    this.#timings = timings
    this.#hubNow = hubNow
    this.#loop = new Loop({
      name: 'payments in',
      waker,
      log: machine.log,
      restFirstMs: timings.backoffFirstMs,
      mayRun: () => mayAsk(parts.hub),
      turn: () => this.#turn(),
    })
  }

  start(): void {
    this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  /** Runs `work` once it is paid for; undefined while the hub does not say whether it is, and when the work was cut short. */
  async paid(
    interaction: Interaction,
    quote: Quote,
    work: () => Promise<PaidAnswer | undefined>,
  ): Promise<PaidAnswer | undefined> {
    const held = await this.held(interaction, quote)
    if (held === undefined || 'effect' in held) return held
    const kept = held.state === 'held' ? await this.#work(held, work) : held
    if (kept === undefined) return undefined
    this.#finishing.add(kept.interaction)
    return await this.#finish(kept).finally(() => this.#finishing.delete(kept.interaction))
  }

  /** The payment once its credits are held; what is answered in place of the work; undefined while the hub is silent. */
  async held(interaction: Interaction, quote: Quote): Promise<PaymentRow | PaidAnswer | undefined> {
    const asked = paymentOf(this.#store, interaction.key) ?? this.#accept(interaction, quote)
    if (typeof asked === 'string') return { effect: quoteEffect(quote, asked), quote }
    if (asked === undefined) return { effect: quoteEffect(quote), quote }
    const held = asked.state === 'authorized' ? await this.#holds.hold(asked, this.#within()) : asked
    // the hub may have held it all the same: it is asked on, and gives back what it has
    if (held === undefined && this.#isOver(asked)) return { effect: quoteEffect(quote, SILENT), quote }
    if (held?.state === 'refused') return { effect: quoteEffect(quote, held.reason ?? undefined), quote }
    return held
  }

  /**
   * What a stop cut short: what is kept of a paid call goes on by itself, and where nothing is, `answer` is kept and the
   * credits go back. False where the call was not paid for.
   */
  keep(interaction: Interaction, answer: PaidAnswer): boolean {
    const row = paymentOf(this.#store, interaction.key)
    if (row?.state === 'held') this.#keepOutcome(row, answer)
    return row?.state === 'held' || (row?.outcome ?? null) !== null
  }

  /** The payment's row once it is in the spent set; why it is not taken; undefined where none came. */
  #accept(interaction: Interaction, quote: Quote): PaymentRow | string | undefined {
    const [store, threads, hubNow] = [this.#store, this.#threads, this.#hubNow]
    const offer = offerOf(threads, interaction)
    if (offer === undefined) return undefined
    const why = offerFault(offer, { interaction, quote, nowMs: hubNow() })
    if (why !== undefined) return why
    const payment = transactionOf(offer.authorization)
    return store.transaction(() => {
      if (paymentById(store, payment) !== undefined) return 'the payment was used for another task'
      const { amount, holdUntil } = offer.authorization.body
      const account = this.#accountFor(quote)
      addPayment(store, {
        interaction: interaction.key,
        side: 'payee',
        payment,
        amount,
        ...account,
        authorization: offer.encoded,
        salt: offer.salt,
        at: hubNow(),
        holdUntil: holdUntil ?? null,
        orderedBy: null,
        starts: quote.starts ?? amount,
      })
      return paymentOf(store, interaction.key)
    }, 'node.payment')
  }

  /** The account that a payment comes to: at the home, also where the payer pays with credits of another hub. */
  #accountFor({ network }: Quote): Pick<PaymentRow, 'network' | 'otherHub'> {
    const { home } = this.#hub
    const own = home === undefined ? network : networkOf(home.identity.aid)
    return { network: own, otherHub: own === network ? null : (hubOfNetwork(network) ?? null) }
  }

  #isOver({ authorization }: PaymentRow): boolean {
    const { notAfter } = Authorization.decode(authorization).body
    return this.#hubNow() > notAfter + AFTER_EXPIRY_MS
  }

  async #work(row: PaymentRow, work: () => Promise<PaidAnswer | undefined>): Promise<PaymentRow | undefined> {
    const isTooLate = row.holdUntil !== null && this.#hubNow() > row.holdUntil - MARGIN_MS
    const late = 'the payment lapses before the work could end; nothing was done'
    if (!isTooLate) this.begun(row)
    const answer = isTooLate ? { effect: buildEffect({ status: 'FAILED', message: late }) } : await work()
    return answer && this.#keepOutcome(row, answer)
  }

  /** The work for a payment begins: it is on the disk before the first step of it. */
  begun({ interaction }: Pick<PaymentRow, 'interaction'>): void {
    const [store, hubNow] = [this.#store, this.#hubNow]
    store.transaction(() => markBegun(store, interaction, hubNow()), 'node.payment')
  }

  /** Keeps what came of the work beside the order that takes the credits, or gives them back where nothing came of it. */
  #keepOutcome(row: PaymentRow, { effect, isPrivate = false }: PaidAnswer): PaymentRow | undefined {
    const [store, threads] = [this.#store, this.#threads]
    const isDone = effect.status === 'OK' || effect.status === 'UNVERIFIED'
    return store.transaction(() => {
      const current = paymentOf(store, row.interaction) ?? row
      const amount = takenFor(threads.byKey(row.interaction), current, isDone)
      const order = this.#orders.make(row, amount)
      keepOutcome(store, row.interaction, { outcome: Effect.encode(effect), isPrivate, order })
      return paymentOf(store, row.interaction)
    }, 'node.payment')
  }

  /** Sends the order and waits for the hub's word, but not for long: what was done is told in any case. */
  async #finish(row: PaymentRow): Promise<PaidAnswer | undefined> {
    const [store, timings] = [this.#store, this.#timings]
    let ended = row
    let waitedMs = 0
    while (ended.state === 'ending') {
      ended = (await this.#holds.end(ended, this.#within())) ?? paymentOf(store, row.interaction) ?? ended
      if (this.#loop.signal.aborted) return undefined
      const isAnswered = ended.state !== 'ending' || !isSilence(ended.problem)
      if (isAnswered || waitedMs >= ORDER_WAITS * timings.paymentPauseMs) break
      waitedMs += await this.#rest(ended)
    }
    if (ended.outcome === null) return undefined
    const settlements = receiptsForPayer(ended)
    return {
      effect: Effect.decode(ended.outcome),
      isPrivate: ended.outcomePrivate === 1,
      ...present({ settlements: settlements.length === 0 ? undefined : settlements }),
    }
  }

  async #rest({ nextAt }: PaymentRow): Promise<number> {
    const { paymentPauseMs } = this.#timings
    const most = ORDER_WAITS * paymentPauseMs
    const ms = Math.min(Math.max(nextAt - this.#hubNow(), paymentPauseMs), most)
    await sleep(this.#machine.timers, ms, this.#loop.signal).catch(() => undefined)
    return ms
  }

  /** Everything that is due now, once, and what the hubs say to it. */
  look(): Promise<void> {
    return this.#loop.once()
  }

  /** Holds for tasks that were withdrawn, and orders that a hub has not answered; each hub is asked beside the turn. */
  #turn(): number {
    const [store, hubNow] = [this.#store, this.#hubNow]
    if (!this.#hasReopened) reopenUnproven(store)
    this.#hasReopened = true
    const now = hubNow()
    if (!this.#maySign()) return this.#askForStored(now)
    attemptEach(lapsedHolds(store, now - AFTER_LAPSE_MS, ORDERS_MAX), row => this.#noteLapse(row))
    this.#learnEnds(now)
    const due = [
      ...abandonedPayments(store, now, ORDERS_MAX),
      ...openOrders(store, now, ORDERS_MAX).filter(({ interaction }) => !this.#finishing.has(interaction)),
    ]
    for (const [network, rows] of Map.groupBy(due, row => row.network))
      this.#loop.followAlone(network, () => this.#askEach(rows))
    const dueMs = (nextPaymentAt(store) ?? Number.POSITIVE_INFINITY) - now
    return Math.min(ROUND_MS, Math.max(dueMs, SHORTEST_MS))
  }

  /** After a restore: the hub is asked whether a copy that is lost has ended a hold. */
  #learnEnds(now: number): void {
    const store = this.#store
    const restored = lastRestore(store)
    const doubted = restored === undefined ? [] : doubtedHolds(store, restored.settledMs, now, ORDERS_MAX)
    for (const [network, rows] of Map.groupBy(doubted, row => row.network))
      this.#loop.followAlone(`ends at ${network}`, async () => {
        for (const row of rows) await this.#holds.learnEnd(row, this.#within())
      })
  }

  /** The identity has ended: the hub is asked what became of its orders, and of holds whose time is over. */
  #askForStored(now: number): number {
    const due = storedEnds(this.#store, now, ORDERS_MAX)
    for (const [network, rows] of Map.groupBy(due, row => row.network))
      this.#loop.followAlone(network, async () => {
        for (const row of rows) await this.#holds.askForStored(row, this.#within())
      })
    return ROUND_MS
  }

  /** One after another: a hub that is silent is not asked for all of them at once. */
  async #askEach(rows: readonly PaymentRow[]): Promise<void> {
    for (const row of rows) {
      if (this.#loop.signal.aborted) return
      if (row.state === 'ending') await this.#holds.end(row, this.#within())
      else await this.#giveBack(row)
    }
  }

  /** The hub may hold the credits although its answer was lost: it is asked for that again, which changes nothing. */
  async #giveBack(row: PaymentRow): Promise<void> {
    const message = 'the task was withdrawn'
    const held = row.state === 'authorized' ? await this.#holds.hold(row, this.#within()) : row
    if (held?.state !== 'held') return
    const kept = this.#keepOutcome(held, { effect: buildEffect({ status: 'FAILED', message }) })
    if (kept?.state === 'ending') await this.#holds.end(kept, this.#within())
  }

  /** A release of what has lapsed changes nothing, and brings the hub's receipt of that. */
  #noteLapse(row: PaymentRow): void {
    const store = this.#store
    const order = this.#orders.make(row, 0)
    store.transaction(() => keepOrder(store, row.interaction, order), 'node.payment')
  }

  #within(): AbortSignal {
    const [timers, timings] = [this.#machine.timers, this.#timings]
    return AbortSignal.any([this.#loop.signal, timers.deadline(timings.paymentMs)])
  }
}
