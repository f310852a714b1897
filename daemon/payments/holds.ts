/**
 * What a payee asks the hub that holds credits for it. A hold ends with the hub's receipt of that and with nothing else: what
 * the hub refuses, or does not say, stays open with its reason and is asked again.
 */
import { cidText } from '../../protocol/crypto/hash.ts'
import { equal } from '../../protocol/encoding/bytes.ts'
import { plainLine } from '../../protocol/encoding/plain-text.ts'
import { HoldOrder, networkOf, SettlementReceipt, settlementKinds } from '../../protocol/proof/payment.ts'
import type { Context } from '../context.ts'
import { describe } from '../hubs/failures.ts'
import type { HubClient, Settled } from '../hubs/hub.ts'
import {
  acceptLostEnds,
  markEnded,
  markHeld,
  markRefused,
  noteProblem,
  type PaymentProblem,
  type PaymentRow,
  paymentOf,
  replaceOrder,
} from '../store/payments.ts'
import type { Interaction } from '../store/threads.ts'
import { type Accounts, withNewestKey } from './accounts.ts'
import { isAccepted } from './lost-holds.ts'
import { maySign } from './may-sign.ts'
import { orderFor } from './orders.ts'
import type { PaymentParts } from './parts.ts'
import { quoteOfRow } from './receipts.ts'

export type HoldNeeds = Pick<
  Context,
  | 'identity'
  | 'store'
  | 'chain'
  | 'threads'
  | 'hub'
  | 'now'
  | 'hubNow'
  | 'log'
  | 'events'
  | 'wakers'
  | 'timers'
  | 'timings'
>

const BACKOFF_MAX_MS = 10 * 60_000
const REASON_CHARACTERS_MAX = 300
/** From then on a hub that says that a hold has ended can only mean that it lapsed. */
const LAPSED_AFTER_MS = 5 * 60_000

/** What the reasons of a hub mean for an order about a hold that it signed for. */
const PROBLEMS: Readonly<Record<string, PaymentProblem>> = {
  invalid_signature: 'key_unknown',
  hold_ended: 'hold_ended',
}

const endIn = (order: Uint8Array): 'capture' | 'release' =>
  HoldOrder.decode(order).body.amount === 0 ? 'release' : 'capture'

export class Holds {
  readonly #ctx: HoldNeeds
  readonly #parts: PaymentParts
  readonly #accounts: Accounts

  constructor(ctx: HoldNeeds, parts: PaymentParts, accounts: Accounts) {
    this.#ctx = ctx
    this.#parts = parts
    this.#accounts = accounts
  }

  /** Has the hub hold the credits of an authorization; undefined while it does not say whether it does. */
  async hold(row: PaymentRow, signal: AbortSignal): Promise<PaymentRow | undefined> {
    const hub = await this.#hubOf(row)
    if (hub === undefined) return undefined
    const answer = await this.#answer(row, () =>
      hub.credits.settle(row.authorization, quoteOfRow(row), signal),
    )
    if (answer === undefined) return undefined
    if ('refused' in answer && answer.refused === 'invalid_payload' && this.#mayBeRegistered(row))
      return this.#open(row, 'refused')
    if ('refused' in answer) return this.refuse(row, plainLine(answer.says, REASON_CHARACTERS_MAX))
    if (!(await this.#isHeld(row, hub, answer.receipt))) return undefined
    const { store, threads } = this.#ctx
    return store.transaction(() => {
      markHeld(store, row.interaction, answer.receipt)
      this.#record(threads.byKey(row.interaction), row, row.amount)
      return paymentOf(store, row.interaction)
    }, 'node.payment')
  }

  /** A payee that leaves its hub for a moment does not fit there; until the authorization ends it may be back. */
  #mayBeRegistered({ network }: PaymentRow): boolean {
    const { home } = this.#ctx.hub
    return home === undefined || networkOf(home.identity.aid) === network
  }

  /** The hub has made no such payment, so there is nothing to end. */
  refuse(row: PaymentRow, reason: string): PaymentRow | undefined {
    const { store } = this.#ctx
    return store.transaction(() => {
      markRefused(store, row.interaction, reason)
      return paymentOf(store, row.interaction)
    }, 'node.payment')
  }

  /** Gives the hub an order about a hold; undefined while it does not prove what came of that. */
  async end(row: PaymentRow, signal: AbortSignal): Promise<PaymentRow | undefined> {
    const hub = await this.#hubOf(row)
    if (hub === undefined || row.endOrder === null) return undefined
    const order = this.#orderOf(row, row.endOrder)
    const answer = await this.#answer(row, () => this.#order(hub, order, signal))
    if (answer === undefined) return undefined
    if ('receipt' in answer) return await this.#ended(row, hub, answer.receipt)
    const { log, hubNow } = this.#ctx
    log.error({ reason: answer.refused, says: answer.says }, 'the hub refused an order about a hold')
    const isLapsed = row.holdUntil !== null && hubNow() > row.holdUntil + LAPSED_AFTER_MS
    if (answer.refused === 'hold_ended' && row.endReceipt !== null) return this.#lose(row, hub)
    if (answer.refused === 'hold_ended' && isLapsed) return await this.#askForLapse(row, hub, signal)
    if (answer.refused === 'invalid_payload') return await this.#findAgain(row, hub, signal)
    if (answer.refused === 'hold_ended') return await this.#askForEnd(row, hub, signal)
    return this.#open(row, PROBLEMS[answer.refused] ?? 'refused')
  }

  /**
   * The hub gives the receipt of an order that it has carried out to whoever repeats it, and that of any end to who repeats
   * the payment. An ended identity signs nothing for that, and no record of it.
   */
  async askForStored(row: PaymentRow, signal: AbortSignal): Promise<void> {
    const hub = await this.#hubOf(row)
    if (hub === undefined) return
    const { endOrder, authorization } = row
    const ordered =
      endOrder === null
        ? undefined
        : await this.#answer(row, () => hub.credits.endHold(endOrder, endIn(endOrder), signal))
    const said =
      ordered !== undefined && 'receipt' in ordered
        ? { end: ordered.receipt }
        : await this.#answer(row, () => hub.credits.endOf(authorization, quoteOfRow(row), signal))
    if (said === undefined) return
    const receipt = 'end' in said ? said.end : undefined
    if (receipt === undefined) return this.#open(row, 'refused')
    const fault = await this.#parts.receipts.faultOfRow(row, hub, receipt, 'ended')
    if (fault !== undefined) return this.#open(row, 'bad_receipt')
    const { kind, amount } = SettlementReceipt.decode(receipt).body
    const moved = kind === settlementKinds.captured ? amount : 0
    const { store } = this.#ctx
    store.transaction(() => markEnded(store, row.interaction, { receipt, moved }), 'node.payment')
  }

  /** A copy of this node that is lost may have ended it: the hub has signed how, and nothing is ordered. */
  async learnEnd(row: PaymentRow, signal: AbortSignal): Promise<void> {
    const hub = await this.#hubOf(row)
    if (hub === undefined) return
    const said = await this.#answer(row, () => hub.credits.endOf(row.authorization, quoteOfRow(row), signal))
    if (said === undefined) return
    const receipt = 'refused' in said ? undefined : said.end
    if (receipt === undefined) return this.#askLater(row, row.problem)
    if ((await this.#parts.receipts.faultOfRow(row, hub, receipt, 'ended')) !== undefined)
      return this.#open(row, 'bad_receipt')
    const { kind, amount } = SettlementReceipt.decode(receipt).body
    const moved = kind === settlementKinds.captured ? amount : 0
    const { store, threads } = this.#ctx
    store.transaction(() => {
      if (paymentOf(store, row.interaction)?.state !== 'held') return
      markEnded(store, row.interaction, { receipt, moved })
      this.#record(threads.byKey(row.interaction), row, moved)
      const ended = paymentOf(store, row.interaction)
      if (ended !== undefined) this.#parts.answers.letGo(ended)
    }, 'node.payment')
  }

  /** The order as it was decided, under the key that this node has now. */
  #orderOf(row: PaymentRow, encoded: Uint8Array): Uint8Array {
    const { identity, store, hubNow } = this.#ctx
    const { amount, payeeKelSeq } = HoldOrder.decode(encoded).body
    if (payeeKelSeq === identity.log.seq) return encoded
    const order = orderFor(identity, row, { amount, madeAt: hubNow() })
    store.transaction(() => replaceOrder(store, row.interaction, order), 'node.payment')
    return order
  }

  async #order(hub: HubClient, order: Uint8Array, signal: AbortSignal): Promise<Settled> {
    return await withNewestKey(this.#ctx.identity, hub, () =>
      hub.credits.endHold(order, endIn(order), signal),
    )
  }

  /** Another order ended it, as one of a copy of this node that is lost: the hub has signed how. */
  async #askForEnd(row: PaymentRow, hub: HubClient, signal: AbortSignal): Promise<PaymentRow | undefined> {
    const said = await this.#answer(row, () => hub.credits.endOf(row.authorization, quoteOfRow(row), signal))
    if (said === undefined) return undefined
    if ('refused' in said || said.end === undefined) return this.#open(row, 'hold_ended')
    return await this.#ended(row, hub, said.end)
  }

  /** The credits are the payer's again: a release that changes nothing brings the hub's receipt of that. */
  async #askForLapse(row: PaymentRow, hub: HubClient, signal: AbortSignal): Promise<PaymentRow | undefined> {
    const { identity, hubNow } = this.#ctx
    const release = orderFor(identity, row, { amount: 0, madeAt: hubNow() })
    const answer = await this.#answer(row, () => this.#order(hub, release, signal))
    if (answer === undefined) return undefined
    if ('receipt' in answer) return await this.#ended(row, hub, answer.receipt)
    return this.#open(row, 'hold_ended')
  }

  /** The hub signed that it holds this and knows of no such hold: it is given the authorization again, while that is good. */
  async #findAgain(row: PaymentRow, hub: HubClient, signal: AbortSignal): Promise<PaymentRow | undefined> {
    const { store, log, hubNow } = this.#ctx
    const answer = await this.#answer(row, () =>
      hub.credits.settle(row.authorization, quoteOfRow(row), signal),
    )
    if (answer === undefined) return undefined
    if ('receipt' in answer && (await this.#isHeld(row, hub, answer.receipt))) {
      log.warn({ transaction: cidText(row.payment) }, 'the hub holds again what it had lost')
      store.transaction(
        () => noteProblem(store, row.interaction, { problem: null, nextAt: hubNow() }),
        'node.payment',
      )
      return undefined
    }
    return this.#lose(row, hub)
  }

  #lose(row: PaymentRow, hub: HubClient): undefined {
    const { store } = this.#ctx
    this.#parts.lostHolds.note(hub, row)
    this.#open(row, 'hold_lost')
    if (isAccepted(store, row)) store.transaction(() => acceptLostEnds(store, row.network), 'node.payment')
  }

  async #ended(row: PaymentRow, hub: HubClient, receipt: Uint8Array): Promise<PaymentRow | undefined> {
    const fault = await this.#parts.receipts.faultOfRow(row, hub, receipt, 'ended')
    if (fault !== undefined) {
      this.#ctx.log.error({ fault }, 'the receipt of the hub does not hold')
      return this.#open(row, 'bad_receipt')
    }
    const { kind, amount } = SettlementReceipt.decode(receipt).body
    const moved = kind === settlementKinds.captured ? amount : 0
    // it signed another end before, or has this one and does not show it
    const isOdd = row.endReceipt !== null && (moved !== row.moved || equal(receipt, row.endReceipt))
    if (isOdd) return this.#lose(row, hub)
    const { store, threads } = this.#ctx
    return store.transaction(() => {
      const current = paymentOf(store, row.interaction)
      // the same order may have been answered twice: a hold ends once
      if (current?.state !== 'ending') return current
      markEnded(store, row.interaction, { receipt, moved })
      if (row.endReceipt !== null) return paymentOf(store, row.interaction)
      this.#record(threads.byKey(row.interaction), row, moved)
      const ended = paymentOf(store, row.interaction)
      if (ended !== undefined) this.#parts.answers.letGo(ended)
      return ended
    }, 'node.payment')
  }

  async #isHeld(row: PaymentRow, hub: HubClient, receipt: Uint8Array): Promise<boolean> {
    const fault = await this.#parts.receipts.faultOfRow(row, hub, receipt, 'held')
    if (fault === undefined) return true
    this.#ctx.log.error({ fault }, 'the receipt of the hub does not hold')
    this.#open(row, 'bad_receipt')
    return false
  }

  async #hubOf(row: PaymentRow): Promise<HubClient | undefined> {
    const hub = await this.#accounts.accountOf(row.network).catch(error => {
      this.#ctx.log.info({ reason: describe(error) }, 'the hub of a payment was not reached')
      this.#open(row, 'unanswered')
      return 'silent' as const
    })
    if (hub === undefined) this.#open(row, 'no_account')
    return hub === 'silent' ? undefined : hub
  }

  async #answer<T>(row: PaymentRow, ask: () => Promise<T>): Promise<T | undefined> {
    try {
      return await ask()
    } catch (error) {
      this.#ctx.log.warn({ err: error }, 'the hub did not answer to a payment')
      this.#open(row, 'unanswered')
      return undefined
    }
  }

  #askLater(row: PaymentRow, problem: PaymentProblem | null): void {
    const { store, hubNow, timings } = this.#ctx
    const tries = paymentOf(store, row.interaction)?.tries ?? row.tries
    const pauseMs = Math.min(timings.paymentPauseMs * 2 ** Math.min(tries, 30), BACKOFF_MAX_MS)
    noteProblem(store, row.interaction, { problem, nextAt: hubNow() + pauseMs })
  }

  #open(row: PaymentRow, problem: PaymentProblem): undefined {
    const { store, threads, events } = this.#ctx
    store.transaction(() => {
      this.#askLater(row, problem)
      const { id: interaction_id, peer } = threads.byKey(row.interaction)
      const isAwaited =
        row.state === 'ending' && row.endReceipt === null && maySign(this.#ctx.identity, this.#ctx.hub)
      if (problem !== 'unanswered' && isAwaited) this.#parts.answers.letGo(row)
      if (row.problem !== problem) store.afterCommit(() => events.emit('message', { interaction_id, peer }))
    }, 'node.payment')
    return undefined
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
}
