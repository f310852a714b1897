/**
 * What a requester keeps of prices and payments as they come, and what both sides say of a payment in the receipt of its
 * task. Whether a price is paid, and what a hub's receipt proves, is judged elsewhere, with time.
 */
import { Malformed, toBase64url } from '../../protocol/encoding/bytes.ts'
import { plainLine } from '../../protocol/encoding/plain-text.ts'
import { decodePayload } from '../../protocol/mail/payload.ts'
import { parseResultDocument, type ResultDocument } from '../../protocol/proof/documents.ts'
import { paidMark, SettlementReceipt, settlementKinds } from '../../protocol/proof/payment.ts'
import { quoteText, readQuote, TASK } from '../../protocol/proof/quote.ts'
import type { Identity } from '../identity/identity.ts'
import { takeRefund } from '../payments/refunds.ts'
import type { Waker } from '../platform/waker.ts'
import type { Store } from '../store/open.ts'
import { keepReceipts, noteRefusalSaid, paymentOf } from '../store/payments.ts'
import { noteQuote, sayWhyUnpaid } from '../store/quotes.ts'
import type { Interaction, Message } from '../store/threads.ts'

const REASON_CHARACTERS_MAX = 300

export class ToldPayments {
  readonly #store: Store
  readonly #identity: Identity
  readonly #spending: Waker

  /** `spending`: what judges prices and pays them. */
  constructor(store: Store, identity: Identity, spending: Waker) {
    this.#store = store
    this.#identity = identity
    this.#spending = spending
  }

  /** The answer to a task is its price. One that asks for anything else than the task's payment is paid by nobody. */
  takeQuote(interaction: Interaction, encoded: Uint8Array): void {
    const store = this.#store
    const document = parseResultDocument(encoded)
    const body = 'payment_required' in document ? document['payment_required'] : undefined
    try {
      const quote = readQuote(body, { provider: interaction.peer, what: interaction.capability ?? TASK })
      const sentence = sentenceOf(document)
      const says = sentence === quoteText(quote) ? undefined : sentence
      noteQuote(store, interaction.key, { ...quote, says })
      if (paymentOf(store, interaction.key) !== undefined) noteRefusal(store, interaction, document)
    } catch (error) {
      if (!(error instanceof Malformed)) throw error
      sayWhyUnpaid(store, interaction.key, error.message, true)
    }
    store.afterCommit(() => this.#spending.wake())
  }

  /** Credits that a provider gives back with its words. */
  takeBack(interaction: Interaction, refund: Uint8Array): void {
    const parts = { store: this.#store, identity: this.#identity, spending: this.#spending }
    takeRefund(parts, interaction, refund)
  }

  /** Receipts of a hub that came for the payment of a task; false where none of ours waits for one. */
  takeSettlements(interaction: Interaction, settlements: readonly Uint8Array[]): boolean {
    const store = this.#store
    const row = paymentOf(store, interaction.key)
    if (row?.side !== 'payer' || (row.heldReceipt !== null && row.endReceipt !== null)) return false
    const read = settlements.map(encoded => ({ encoded, kind: kindOf(encoded) }))
    const held = read.find(({ kind }) => kind === settlementKinds.held || kind === settlementKinds.paid)
    const end = read.find(
      ({ kind }) => kind === settlementKinds.captured || kind === settlementKinds.returned,
    )
    keepReceipts(store, interaction.key, { held: held?.encoded ?? null, end: end?.encoded ?? null })
    store.afterCommit(() => this.#spending.wake())
    return held !== undefined || end !== undefined
  }

  /** Those that come by themselves: none more from a provider that has sent what proves nothing. */
  takeLaterSettlements(interaction: Interaction, settlements: readonly Uint8Array[]): boolean {
    if (paymentOf(this.#store, interaction.key)?.problem === 'false_receipt') return false
    return this.takeSettlements(interaction, settlements)
  }
}

/**
 * A payment that came back as a price was refused, its provider says; only a person pays again, or a provider could ask
 * without end. It counts as spent until the hub says that it never moved.
 */
function noteRefusal(store: Store, { key }: Interaction, document: ResultDocument): void {
  const why = sentenceOf(document)
  noteRefusalSaid(store, key, `the other side says that it was refused: ${why}`)
  sayWhyUnpaid(store, key, `a payment for it is out already, which the other side says was refused: ${why}`)
}

const sentenceOf = (document: ResultDocument): string =>
  'message' in document ? plainLine(String(document.message), REASON_CHARACTERS_MAX) : ''

function kindOf(encoded: Uint8Array): number | undefined {
  try {
    return SettlementReceipt.decode(encoded).body.kind
  } catch (error) {
    if (error instanceof Malformed) return undefined
    throw error
  }
}

/** What the receipt of a task says of its payment: something, when the provider sent a hub's receipt with an answer. */
export function paidMarkOf(
  store: Store,
  interaction: Interaction,
  answers: readonly Message[],
): string | undefined {
  const row = paymentOf(store, interaction.key)
  if (row === undefined) return undefined
  const isTold = answers.some(({ kind, payload }) => 'settlements' in decodePayload(kind, payload).payload)
  return isTold ? toBase64url(paidMark(row.salt, row.payment)) : undefined
}
