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
import type { Context } from '../context.ts'
import { takeRefund } from '../payments/refunds.ts'
import { keepReceipts, noteRefusalSaid, paymentOf } from '../store/payments.ts'
import { noteQuote, sayWhyUnpaid } from '../store/quotes.ts'
import type { Interaction, Message } from '../store/threads.ts'

type Needs = Pick<Context, 'store' | 'wakers'>

const REASON_CHARACTERS_MAX = 300

/** The answer to a task is its price. One that asks for anything else than the task's payment is paid by nobody. */
export function takeQuote(ctx: Needs, interaction: Interaction, encoded: Uint8Array): void {
  const document = parseResultDocument(encoded)
  const body = 'payment_required' in document ? document['payment_required'] : undefined
  try {
    const quote = readQuote(body, { provider: interaction.peer, what: interaction.capability ?? TASK })
    const sentence = sentenceOf(document)
    const says = sentence === quoteText(quote) ? undefined : sentence
    noteQuote(ctx.store, interaction.key, { ...quote, says })
    if (paymentOf(ctx.store, interaction.key) !== undefined) noteRefusal(ctx, interaction, document)
  } catch (error) {
    if (!(error instanceof Malformed)) throw error
    sayWhyUnpaid(ctx.store, interaction.key, error.message, true)
  }
  ctx.store.afterCommit(() => ctx.wakers.spending.wake())
}

/**
 * A payment that came back as a price was refused, its provider says; only a person pays again, or a provider could ask
 * without end. It counts as spent until the hub says that it never moved.
 */
function noteRefusal({ store }: Needs, { key }: Interaction, document: ResultDocument): void {
  const why = sentenceOf(document)
  noteRefusalSaid(store, key, `the other side says that it was refused: ${why}`)
  sayWhyUnpaid(store, key, `a payment for it is out already, which the other side says was refused: ${why}`)
}

const sentenceOf = (document: ResultDocument): string =>
  'message' in document ? plainLine(String(document.message), REASON_CHARACTERS_MAX) : ''

/** Credits that a provider gives back with its words. */
export const takeBack = (
  ctx: Pick<Context, 'store' | 'identity' | 'wakers'>,
  interaction: Interaction,
  refund: Uint8Array,
): void => takeRefund({ ...ctx, spending: ctx.wakers.spending }, interaction, refund)

/** Receipts of a hub that came for the payment of a task; false where none of ours waits for one. */
export function takeSettlements(
  ctx: Needs,
  interaction: Interaction,
  settlements: readonly Uint8Array[],
): boolean {
  const row = paymentOf(ctx.store, interaction.key)
  if (row?.side !== 'payer' || (row.heldReceipt !== null && row.endReceipt !== null)) return false
  const read = settlements.map(encoded => ({ encoded, kind: kindOf(encoded) }))
  const held = read.find(({ kind }) => kind === settlementKinds.held || kind === settlementKinds.paid)
  const end = read.find(({ kind }) => kind === settlementKinds.captured || kind === settlementKinds.returned)
  keepReceipts(ctx.store, interaction.key, { held: held?.encoded ?? null, end: end?.encoded ?? null })
  ctx.store.afterCommit(() => ctx.wakers.spending.wake())
  return held !== undefined || end !== undefined
}

/** Those that come by themselves: none more from a provider that has sent what proves nothing. */
export function takeLaterSettlements(
  ctx: Needs,
  interaction: Interaction,
  settlements: readonly Uint8Array[],
): boolean {
  if (paymentOf(ctx.store, interaction.key)?.problem === 'false_receipt') return false
  return takeSettlements(ctx, interaction, settlements)
}

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
  ctx: Pick<Context, 'store'>,
  interaction: Interaction,
  answers: readonly Message[],
): string | undefined {
  const row = paymentOf(ctx.store, interaction.key)
  if (row === undefined) return undefined
  const isTold = answers.some(({ kind, payload }) => 'settlements' in decodePayload(kind, payload).payload)
  return isTold ? toBase64url(paidMark(row.salt, row.payment)) : undefined
}
