/**
 * What a provider does for a price: row of the spent set, hold, work, then one order that takes the credits or gives them
 * back. Each step is on the disk before the next, so that a call is paid once and run once whatever dies between.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { cidText } from '../../protocol/crypto/hash.ts'
import { plainLine } from '../../protocol/encoding/plain-text.ts'
import { buildEffect, Effect } from '../../protocol/proof/effect.ts'
import {
  Authorization,
  HoldOrder,
  type SettlementKind,
  settlementKinds,
  transactionOf,
} from '../../protocol/proof/payment.ts'
import type { Quote } from '../../protocol/proof/quote.ts'
import type { Context } from '../context.ts'
import type { Settled } from '../hubs/hub.ts'
import {
  abandonedPayments,
  addPayment,
  keepOutcome,
  markEnded,
  markHeld,
  markRefused,
  openOrders,
  type PaymentRow,
  paymentById,
  paymentOf,
} from '../store/payments.ts'
import type { Interaction } from '../store/threads.ts'
import { offerFault, offerOf, quoteEffect } from './gate.ts'
import { maySign } from './may-sign.ts'
import { orderFor } from './orders.ts'
import { faultOf } from './receipts.ts'
import { letAnswerGo } from './words.ts'

type Needs = Pick<
  Context,
  'identity' | 'store' | 'chain' | 'threads' | 'hub' | 'hubNow' | 'log' | 'events' | 'wakers'
>

/** What a call is answered with: after its payment with the hub's receipts, or with the price in its place. */
export type Answer = {
  effect: Effect
  isPrivate?: boolean
  quote?: Quote
  settlements?: Uint8Array[]
}

/** A hub that is silent is asked again until the payment can no longer be good. */
const SETTLE_MS = 20_000
const AFTER_EXPIRY_MS = 4 * 60_000
/** How long a result waits for the hub's word that the credits are taken. */
const ORDER_WAIT_MS = 60_000
const ORDER_PAUSE_MS = 2_000
const ROUND_MS = 60_000
const ORDERS_MAX = 64
/** What cannot be finished so long before its hold lapses is not begun. */
const MARGIN_MS = 10 * 60_000
const REASON_CHARACTERS_MAX = 300

const ends: readonly SettlementKind[] = [settlementKinds.captured, settlementKinds.returned]

export class Payee {
  readonly #ctx: Needs
  readonly #lifetime = new AbortController()
  /** Tasks whose result waits for the hub's word. */
  readonly #finishing = new Set<number>()
  #round: Promise<void> | undefined

  constructor(ctx: Needs) {
    this.#ctx = ctx
  }

  start(): void {
    this.#round = this.#rounds()
  }

  async stop(): Promise<void> {
    this.#lifetime.abort()
    this.#ctx.wakers.payments.wake()
    await this.#round
  }

  /** Runs `work` once it is paid for; undefined while the hub does not say whether it is, and when the work was cut short. */
  async paid(
    interaction: Interaction,
    quote: Quote,
    work: () => Promise<Answer | undefined>,
  ): Promise<Answer | undefined> {
    const held = await this.held(interaction, quote)
    if (held === undefined || 'effect' in held) return held
    const kept = held.state === 'held' ? await this.#work(held, work) : held
    if (kept === undefined) return undefined
    this.#finishing.add(kept.interaction)
    return await this.#finish(kept).finally(() => this.#finishing.delete(kept.interaction))
  }

  /** The payment once its credits are held; what is answered in place of the work; undefined while the hub is silent. */
  async held(interaction: Interaction, quote: Quote): Promise<PaymentRow | Answer | undefined> {
    const asked = paymentOf(this.#ctx.store, interaction.key) ?? this.#accept(interaction, quote)
    if (typeof asked === 'string') return { effect: quoteEffect(quote, asked), quote }
    if (asked === undefined) return { effect: quoteEffect(quote), quote }
    const held = asked.state === 'authorized' ? await this.#hold(asked, quote) : asked
    if (held?.state === 'refused') return { effect: quoteEffect(quote, held.reason ?? undefined), quote }
    return held
  }

  /**
   * What a stop cut short: what is kept of a paid call goes on by itself, and where nothing is, `answer` is kept and the
   * credits go back. False where the call was not paid for.
   */
  keep(interaction: Interaction, answer: Answer): boolean {
    const row = paymentOf(this.#ctx.store, interaction.key)
    if (row?.state === 'held') this.#keepOutcome(row, answer)
    return row?.state === 'held' || (row?.outcome ?? null) !== null
  }

  /** The payment's row once it is in the spent set; why it is not taken; undefined where none came. */
  #accept(interaction: Interaction, quote: Quote): PaymentRow | string | undefined {
    const { store, threads, hubNow } = this.#ctx
    const offer = offerOf({ threads }, interaction)
    if (offer === undefined) return undefined
    const why = offerFault(offer, { interaction, quote, nowMs: hubNow() })
    if (why !== undefined) return why
    const payment = transactionOf(offer.authorization)
    return store.transaction(() => {
      if (paymentById(store, payment) !== undefined) return 'the payment was used for another task'
      const { amount, network, holdUntil } = offer.authorization.body
      addPayment(store, {
        interaction: interaction.key,
        side: 'payee',
        payment,
        amount,
        network,
        authorization: offer.encoded,
        salt: offer.salt,
        at: hubNow(),
        holdUntil: holdUntil ?? null,
        orderedBy: null,
      })
      return paymentOf(store, interaction.key)
    }, 'node.payment')
  }

  /** Has the hub hold the credits; undefined while it does not answer. */
  async #hold(row: PaymentRow, quote: Quote): Promise<PaymentRow | undefined> {
    const { hub, hubNow, log } = this.#ctx
    const home = hub.home
    const authorization = Authorization.decode(row.authorization)
    if (home === undefined) return undefined
    let answer: Settled
    try {
      answer = await home.credits.settle(row.authorization, quote, this.#within(SETTLE_MS))
    } catch (error) {
      if (this.#lifetime.signal.aborted) return undefined
      log.warn({ err: error }, 'the hub did not answer to a payment')
      const isOver = hubNow() > authorization.body.notAfter + AFTER_EXPIRY_MS
      return isOver ? this.#refuse(row, 'the hub did not answer while the payment was good') : undefined
    }
    if ('refused' in answer) return this.#refuse(row, plainLine(answer.says, REASON_CHARACTERS_MAX))
    const fault = await faultOf(this.#ctx, home, answer.receipt, {
      authorization,
      kinds: [settlementKinds.held],
      askedAtMs: row.at,
    })
    if (fault !== undefined) {
      log.error({ fault }, 'the receipt of the hub does not hold')
      return this.#refuse(row, 'the receipt of the hub does not hold')
    }
    return this.#noteHeld(row, answer.receipt)
  }

  #noteHeld(row: PaymentRow, receipt: Uint8Array): PaymentRow | undefined {
    const { store, threads } = this.#ctx
    return store.transaction(() => {
      markHeld(store, row.interaction, receipt)
      this.#record(threads.byKey(row.interaction), row, row.amount)
      return paymentOf(store, row.interaction)
    }, 'node.payment')
  }

  #refuse(row: PaymentRow, reason: string): PaymentRow | undefined {
    const { store } = this.#ctx
    return store.transaction(() => {
      markRefused(store, row.interaction, reason)
      return paymentOf(store, row.interaction)
    }, 'node.payment')
  }

  async #work(row: PaymentRow, work: () => Promise<Answer | undefined>): Promise<PaymentRow | undefined> {
    const isTooLate = row.holdUntil !== null && this.#ctx.hubNow() > row.holdUntil - MARGIN_MS
    const late = 'the payment lapses before the work could end; nothing was done'
    const answer = isTooLate ? { effect: buildEffect({ status: 'FAILED', message: late }) } : await work()
    return answer && this.#keepOutcome(row, answer)
  }

  /** Keeps what came of the work beside the order that takes the credits, or gives them back where nothing came of it. */
  #keepOutcome(row: PaymentRow, { effect, isPrivate = false }: Answer): PaymentRow | undefined {
    const { store, threads } = this.#ctx
    const isDone = effect.status === 'OK' || effect.status === 'UNVERIFIED'
    return store.transaction(() => {
      const { state } = threads.byKey(row.interaction)
      const isWanted = state === 'open' || state === 'end_proposed'
      const order = orderFor(this.#ctx, row, isDone && isWanted ? row.amount : 0)
      keepOutcome(store, row.interaction, { outcome: Effect.encode(effect), isPrivate, order })
      return paymentOf(store, row.interaction)
    }, 'node.payment')
  }

  /** Sends the order and waits for the hub's word, but not for long: what was done is told in any case. */
  async #finish(row: PaymentRow): Promise<Answer | undefined> {
    const until = this.#ctx.hubNow() + ORDER_WAIT_MS
    let ended = row
    while (ended.state === 'ending') {
      ended = (await this.#send(row)) ?? row
      if (this.#lifetime.signal.aborted) return undefined
      if (ended.state === 'ending' && this.#ctx.hubNow() >= until) break
      if (ended.state === 'ending') await this.#rest()
    }
    if (ended.outcome === null) return undefined
    const settlements = [ended.heldReceipt, ended.endReceipt].filter(receipt => receipt !== null)
    return { effect: Effect.decode(ended.outcome), isPrivate: ended.outcomePrivate === 1, settlements }
  }

  async #rest(): Promise<void> {
    await pause(ORDER_PAUSE_MS, undefined, { signal: this.#lifetime.signal }).catch(() => undefined)
  }

  /** Gives the hub an order about a hold; undefined while it does not answer. */
  async #send(row: PaymentRow): Promise<PaymentRow | undefined> {
    const { hub, log } = this.#ctx
    if (hub.home === undefined || row.endOrder === null) return undefined
    const { amount } = HoldOrder.decode(row.endOrder).body
    try {
      const signal = this.#within(SETTLE_MS)
      const answer = await hub.home.credits.endHold(
        row.endOrder,
        amount === 0 ? 'release' : 'capture',
        signal,
      )
      if ('refused' in answer) {
        log.error({ reason: answer.refused, says: answer.says }, 'the hub refused an order about a hold')
        return this.#end(row, { receipt: null, moved: 0 })
      }
      const authorization = Authorization.decode(row.authorization)
      const asked = { authorization, kinds: ends, askedAtMs: row.at }
      const fault = await faultOf(this.#ctx, hub.home, answer.receipt, asked)
      if (fault !== undefined) log.error({ fault }, 'the receipt of the hub does not hold')
      return this.#end(row, { receipt: fault === undefined ? answer.receipt : null, moved: amount })
    } catch (error) {
      log.warn({ err: error }, 'the hub did not answer to an order about a hold')
      return undefined
    }
  }

  #end(row: PaymentRow, end: { receipt: Uint8Array | null; moved: number }): PaymentRow | undefined {
    const { store, threads } = this.#ctx
    return store.transaction(() => {
      const current = paymentOf(store, row.interaction)
      // the same order may have been answered twice: a hold ends once
      if (current?.state !== 'ending') return current
      markEnded(store, row.interaction, end)
      this.#record(threads.byKey(row.interaction), row, end.moved)
      const ended = paymentOf(store, row.interaction)
      if (ended !== undefined) letAnswerGo(this.#ctx, ended)
      return ended
    }, 'node.payment')
  }

  #record(interaction: Interaction, row: PaymentRow, amount: number): void {
    this.#ctx.chain.append('svc.payment.settled', {
      interaction_id: interaction.id,
      capability: interaction.capability ?? '',
      transaction: cidText(row.payment),
      amount,
      network: row.network,
    })
  }

  /** Orders that the hub has not answered, and holds for tasks that were withdrawn. */
  async #rounds(): Promise<void> {
    while (!this.#lifetime.signal.aborted) {
      if (maySign(this.#ctx)) await this.#look()
      await this.#ctx.wakers.payments.sleep(ROUND_MS)
    }
  }

  async #look(): Promise<void> {
    const { store } = this.#ctx
    for (const row of abandonedPayments(store, ORDERS_MAX)) this.#giveBack(row)
    for (const row of openOrders(store, ORDERS_MAX)) {
      if (this.#lifetime.signal.aborted) return
      if (!this.#finishing.has(row.interaction)) await this.#send(row)
    }
  }

  #giveBack(row: PaymentRow): void {
    const message = 'the task was withdrawn'
    if (row.state === 'held') this.#keepOutcome(row, { effect: buildEffect({ status: 'FAILED', message }) })
    else this.#refuse(row, message)
  }

  #within(ms: number): AbortSignal {
    return AbortSignal.any([this.#lifetime.signal, AbortSignal.timeout(ms)])
  }
}
