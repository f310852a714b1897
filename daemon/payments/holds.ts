/**
 * What a payee asks the hub that holds credits for it. A hold ends with the hub's receipt of that and with nothing else: what
 * the hub refuses, or does not say, stays open with its reason and is asked again.
 */
import type { Logger } from 'pino'
import { cidText } from '../../protocol/crypto/hash.ts'
import { equal } from '../../protocol/encoding/bytes.ts'
import { plainLine } from '../../protocol/encoding/plain-text.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { PaymentRow } from '../store/payments.ts'
import type { HoldCalls } from './hold-calls.ts'
import type { HoldProblems } from './hold-problems.ts'
import { type HoldResults, movedBy, type Signed } from './hold-results.ts'
import type { LostHolds } from './lost-holds.ts'
import { endIn, type HoldOrders } from './orders.ts'
import { quoteOfRow, type Receipts } from './receipts.ts'

const REASON_CHARACTERS_MAX = 300
/** From then on a hub that says that a hold has ended can only mean that it lapsed. */
const LAPSED_AFTER_MS = 5 * 60_000

type HoldParts = {
  calls: HoldCalls
  orders: HoldOrders
  problems: HoldProblems
  results: HoldResults
  receipts: Receipts
  lost: LostHolds
}

export class Holds {
  readonly #calls: HoldCalls
  readonly #orders: HoldOrders
  readonly #problems: HoldProblems
  readonly #results: HoldResults
  readonly #receipts: Receipts
  readonly #lost: LostHolds
  readonly #hubNow: () => number
  readonly #log: Logger

  constructor(
    { calls, orders, problems, results, receipts, lost }: HoldParts,
    hubNow: () => number,
    log: Logger,
  ) {
    this.#calls = calls
    this.#orders = orders
    this.#problems = problems
    this.#results = results
    this.#receipts = receipts
    this.#lost = lost
    this.#hubNow = hubNow
    this.#log = log
  }

  /** Has the hub hold the credits of an authorization; undefined while it does not say whether it does. */
  async hold(row: PaymentRow, signal: AbortSignal): Promise<PaymentRow | undefined> {
    const hub = await this.#calls.hubOf(row)
    if (hub === undefined) return undefined
    const answer = await this.#calls.answer(row, () =>
      hub.credits.settle(row.authorization, quoteOfRow(row), signal),
    )
    if (answer === undefined) return undefined
    if ('refused' in answer && answer.refused === 'invalid_payload' && this.#calls.mayBeRegistered(row))
      return this.#problems.open(row, 'refused')
    if ('refused' in answer) return this.#results.refused(row, plainLine(answer.says, REASON_CHARACTERS_MAX))
    if (!(await this.#isHeld(row, hub, answer.receipt))) return undefined
    return this.#results.held(row, answer)
  }

  /** Gives the hub an order about a hold; undefined while it does not prove what came of that. */
  async end(row: PaymentRow, signal: AbortSignal): Promise<PaymentRow | undefined> {
    const hub = await this.#calls.hubOf(row)
    if (hub === undefined || row.endOrder === null) return undefined
    const order = this.#orders.underNewestKey(row, row.endOrder)
    const answer = await this.#calls.answer(row, () => this.#orders.send(hub, order, signal))
    if (answer === undefined) return undefined
    if ('receipt' in answer) return await this.#ended(row, hub, answer)
    this.#log.error({ reason: answer.refused, says: answer.says }, 'the hub refused an order about a hold')
    const isLapsed = row.holdUntil !== null && this.#hubNow() > row.holdUntil + LAPSED_AFTER_MS
    if (answer.refused === 'hold_ended' && row.endReceipt !== null) return this.#lose(row, hub)
    if (answer.refused === 'hold_ended' && isLapsed) return await this.#askForLapse(row, hub, signal)
    if (answer.refused === 'invalid_payload') return await this.#findAgain(row, hub, signal)
    if (answer.refused === 'hold_ended') return await this.#askForEnd(row, hub, signal)
    return this.#problems.open(row, answer.refused === 'invalid_signature' ? 'key_unknown' : 'refused')
  }

  /**
   * The hub gives the receipt of an order that it has carried out to whoever repeats it, and that of any end to who repeats
   * the payment. An ended identity signs nothing for that, and no record of it.
   */
  async askForStored(row: PaymentRow, signal: AbortSignal): Promise<void> {
    const hub = await this.#calls.hubOf(row)
    if (hub === undefined) return
    const { endOrder, authorization } = row
    const ordered =
      endOrder === null
        ? undefined
        : await this.#calls.answer(row, () => hub.credits.endHold(endOrder, endIn(endOrder), signal))
    const said =
      ordered !== undefined && 'receipt' in ordered
        ? { end: ordered.receipt }
        : await this.#calls.answer(row, () => hub.credits.endOf(authorization, quoteOfRow(row), signal))
    if (said === undefined) return
    const receipt = 'end' in said ? said.end : undefined
    if (receipt === undefined) return this.#problems.open(row, 'refused')
    const fault = await this.#receipts.faultOfRow(row, hub, receipt, 'ended')
    if (fault !== undefined) return this.#problems.open(row, 'bad_receipt')
    this.#results.endedUnrecorded(row, receipt)
  }

  /** A copy of this node that is lost may have ended it: the hub has signed how, and nothing is ordered. */
  async learnEnd(row: PaymentRow, signal: AbortSignal): Promise<void> {
    const hub = await this.#calls.hubOf(row)
    if (hub === undefined) return
    const said = await this.#calls.answer(row, () =>
      hub.credits.endOf(row.authorization, quoteOfRow(row), signal),
    )
    if (said === undefined) return
    const receipt = 'refused' in said ? undefined : said.end
    if (receipt === undefined) return this.#problems.askLater(row, row.problem)
    if ((await this.#receipts.faultOfRow(row, hub, receipt, 'ended')) !== undefined)
      return this.#problems.open(row, 'bad_receipt')
    this.#results.endedElsewhere(row, receipt)
  }

  /** Another order ended it, as one of a copy of this node that is lost: the hub has signed how. */
  async #askForEnd(row: PaymentRow, hub: HubClient, signal: AbortSignal): Promise<PaymentRow | undefined> {
    const said = await this.#calls.answer(row, () =>
      hub.credits.endOf(row.authorization, quoteOfRow(row), signal),
    )
    if (said === undefined) return undefined
    if ('refused' in said || said.end === undefined) return this.#problems.open(row, 'hold_ended')
    return await this.#ended(row, hub, { receipt: said.end })
  }

  /** The credits are the payer's again: a release that changes nothing brings the hub's receipt of that. */
  async #askForLapse(row: PaymentRow, hub: HubClient, signal: AbortSignal): Promise<PaymentRow | undefined> {
    const release = this.#orders.make(row, 0)
    const answer = await this.#calls.answer(row, () => this.#orders.send(hub, release, signal))
    if (answer === undefined) return undefined
    if ('receipt' in answer) return await this.#ended(row, hub, answer)
    return this.#problems.open(row, 'hold_ended')
  }

  /**
   * The hub signed that it holds this and knows of no such hold: it is given the authorization again, with its own receipt,
   * which a hub that was restored takes back.
   */
  async #findAgain(row: PaymentRow, hub: HubClient, signal: AbortSignal): Promise<PaymentRow | undefined> {
    const answer = await this.#calls.answer(row, () =>
      hub.credits.settle(row.authorization, quoteOfRow(row), signal, row.heldReceipt),
    )
    if (answer === undefined) return undefined
    if ('receipt' in answer && (await this.#isHeld(row, hub, answer.receipt))) {
      this.#log.warn({ transaction: cidText(row.payment) }, 'the hub holds again what it had lost')
      this.#problems.clear(row)
      return undefined
    }
    return this.#lose(row, hub)
  }

  #lose(row: PaymentRow, hub: HubClient): undefined {
    this.#lost.note(hub, row)
    this.#problems.open(row, 'hold_lost')
    this.#results.lost(row)
  }

  async #ended(row: PaymentRow, hub: HubClient, signed: Signed): Promise<PaymentRow | undefined> {
    const { receipt } = signed
    const fault = await this.#receipts.faultOfRow(row, hub, receipt, 'ended')
    if (fault !== undefined) {
      this.#log.error({ fault }, 'the receipt of the hub does not hold')
      return this.#problems.open(row, 'bad_receipt')
    }
    const moved = movedBy(receipt)
    // it signed another end before, or has this one and does not show it
    const isOdd = row.endReceipt !== null && (moved !== row.moved || equal(receipt, row.endReceipt))
    if (isOdd) return this.#lose(row, hub)
    return this.#results.ended(row, signed)
  }

  async #isHeld(row: PaymentRow, hub: HubClient, receipt: Uint8Array): Promise<boolean> {
    const fault = await this.#receipts.faultOfRow(row, hub, receipt, 'held')
    if (fault === undefined) return true
    this.#log.error({ fault }, 'the receipt of the hub does not hold')
    this.#problems.open(row, 'bad_receipt')
    return false
  }
}
