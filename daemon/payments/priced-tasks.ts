/**
 * Tasks in words that have a price. Once their payment is held anybody may answer, a person or a program; the first answer
 * takes the credits, and leaves with the hub's receipts, or without the last one after a minute.
 */
import { decodePayload, encodePayload, kinds, type Payload } from '../../protocol/mail/payload.ts'
import type { Identity } from '../identity/identity.ts'
import type { Wakers } from '../platform/waker.ts'
import { refuse } from '../refusal.ts'
import { isLocal, keepOpenPrice, openPriceOf } from '../store/interactions.ts'
import type { Store } from '../store/open.ts'
import { holdBack } from '../store/outbox.ts'
import { keepOrder, type PaymentRow, paymentOf, receiptsForPayer } from '../store/payments.ts'
import type { Interaction, Outgoing, Threads } from '../store/threads.ts'
import { orderFor } from './orders.ts'

/** The time of this machine, and as its hub sees it. */
type Clocks = { now: () => number; hubNow: () => number }
type AnswerParts = { identity: Identity; store: Store; threads: Threads; wakers: Wakers }

const TAKEN_WITHIN_MS = 60_000

/** Keeps what a task costs while it is not paid for, as it was when it came. */
export const notePrice = (store: Store, { key }: Interaction, amount: number): void =>
  keepOpenPrice(store, key, amount)

/** What this task costs before anybody answers it; undefined where it costs nothing, or is paid for. */
export const openPrice = (store: Store, { key }: Interaction): number | undefined => openPriceOf(store, key)

export const dropPrice = (store: Store, { key }: Interaction): void => keepOpenPrice(store, key, null)

export class PricedAnswers {
  readonly #identity: Identity
  readonly #store: Store
  readonly #threads: Threads
  readonly #wakers: Wakers
  readonly #clock: Clocks

  constructor({ identity, store, threads, wakers }: AnswerParts, clock: Clocks) {
    this.#identity = identity
    this.#store = store
    this.#threads = threads
    this.#wakers = wakers
    this.#clock = clock
  }

  /** Queues words of this side; the first ones of a task that is paid for take its credits. Runs inside a transaction. */
  queue(interaction: Interaction, outgoing: Outgoing): ReturnType<Threads['queue']> {
    const store = this.#store
    const row = paymentOf(store, interaction.key)
    const isHeld = row?.state === 'held'
    if (openPrice(store, interaction) !== undefined && !isHeld)
      refuse(
        'wrong_state',
        'the payment for this task is not held yet; its answer would be unpaid',
        `svc thread ${interaction.id}`,
      )
    // a stop may have come between the hold and this
    if (isHeld) dropPrice(store, interaction)
    if (!isHeld || row.side !== 'payee') return this.#threads.queue(interaction, outgoing)
    const payload = withReceipts(outgoing, row)
    const queued = this.#threads.queue(interaction, { ...outgoing, payload })
    keepOrder(
      store,
      interaction.key,
      orderFor(this.#identity, row, { amount: row.amount, madeAt: this.#clock.hubNow() }),
    )
    holdBack(store, queued.message.key, this.#clock.now() + TAKEN_WITHIN_MS)
    store.afterCommit(() => this.#wakers.payments.wake())
    return queued
  }

  /**
   * The hub has answered: what waits for that goes, with all that the hub has signed. Where a receipt of the task covers its
   * digest already, or it has gone, what the hub signed goes in a message of its own.
   */
  letGo(row: PaymentRow): void {
    const [store, threads] = [this.#store, this.#threads]
    const interaction = threads.byKey(row.interaction)
    const answer = threads.byNumber(row.interaction, 'out', 1)
    const isFinal = interaction.receipt !== null || interaction.receiptState !== null
    const waits = row.outcome === null && answer?.kind === kinds.message
    if (waits && !isFinal && threads.complete(answer, withReceipts(answer, row))) return
    if (waits) {
      holdBack(store, answer.key, this.#clock.now())
      store.afterCommit(() => this.#wakers.outbox.wake())
    }
    if (!isAnswerDue(interaction)) this.#tellEnd(interaction, row)
  }

  /** The requester of a payment across two hubs learns that both have made it: the work begins. */
  tellHeld(row: PaymentRow): void {
    const interaction = this.#threads.byKey(row.interaction)
    const settlements = receiptsForPayer(row)
    if (row.otherHub === null || settlements.length === 0 || isLocal(interaction)) return
    this.#tell(interaction, { settlements })
  }

  /** After the end of its task a refund across two hubs goes to the requester alone, whose hub has to move it. */
  tellRefund(
    interaction: Interaction,
    { row, encoded: refund }: { row: PaymentRow; encoded: Uint8Array },
  ): void {
    const settlements = receiptsForPayer(row)
    if (row.otherHub === null || settlements.length === 0 || isLocal(interaction)) return
    this.#tell(interaction, { settlements, refund })
  }

  #tellEnd(interaction: Interaction, row: PaymentRow): void {
    const settlements = receiptsForPayer(row)
    if (row.endReceipt === null || settlements.length === 0 || isLocal(interaction)) return
    this.#tell(interaction, { settlements })
  }

  #tell(interaction: Interaction, told: Payload<typeof kinds.settlements>): void {
    const payload = encodePayload(kinds.settlements, told)
    this.#threads.queue(interaction, { kind: kinds.settlements, payload, text: '', numbered: false })
  }
}

/** The answer of a call is made after this, and brings what the hub signed. */
const isAnswerDue = ({ numbered, state }: Interaction): boolean =>
  numbered === 0 && (state === 'open' || state === 'end_proposed')

function withReceipts({ kind, payload }: Pick<Outgoing, 'kind' | 'payload'>, row: PaymentRow): Uint8Array {
  const decoded = decodePayload(kind, payload)
  const settlements = receiptsForPayer(row)
  if (decoded.kind !== kinds.message || settlements.length === 0) return payload
  return encodePayload(kinds.message, { ...decoded.payload, settlements })
}
