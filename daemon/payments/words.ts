/**
 * Tasks in words that have a price. Once their payment is held anybody may answer, a person or a program; the first answer
 * takes the credits, and leaves with the hub's receipts, or without the last one after a minute.
 */
import { present } from '../../protocol/encoding/present.ts'
import { decodePayload, encodePayload, kinds } from '../../protocol/mail/payload.ts'
import type { Context } from '../context.ts'
import { refuse } from '../refusal.ts'
import { forget, recall, remember } from '../store/memory.ts'
import { holdBack } from '../store/outbox.ts'
import { keepOrder, type PaymentRow, paymentOf } from '../store/payments.ts'
import type { Interaction, Message, Outgoing } from '../store/threads.ts'
import { orderFor } from './orders.ts'

type Needs = Pick<Context, 'identity' | 'store' | 'threads' | 'wakers' | 'now' | 'hubNow'>

const TAKEN_WITHIN_MS = 60_000

/** Stands while a task is not paid for: what it costs, as it was when it came. */
export const PRICED_MARK = 'priced task '
const markOf = ({ id }: Interaction): string => `${PRICED_MARK}${id}`

export function notePrice({ store }: Pick<Needs, 'store'>, interaction: Interaction, amount: number): void {
  remember(store, markOf(interaction), Buffer.from(String(amount)))
}

/** What this task costs before anybody answers it; undefined where it costs nothing, or is paid for. */
export function openPrice({ store }: Pick<Needs, 'store'>, interaction: Interaction): number | undefined {
  const noted = recall(store, markOf(interaction))
  return noted === undefined ? undefined : Number(Buffer.from(noted).toString())
}

export function dropPrice({ store }: Pick<Needs, 'store'>, interaction: Interaction): void {
  forget(store, markOf(interaction))
}

/** Queues words of this side; the first ones of a task that is paid for take its credits. Runs inside a transaction. */
export function queueWords(
  ctx: Needs,
  interaction: Interaction,
  outgoing: Outgoing,
): ReturnType<Needs['threads']['queue']> {
  if (openPrice(ctx, interaction) !== undefined)
    refuse(
      'wrong_state',
      'the payment for this task is not held yet; its answer would be unpaid',
      `svc thread ${interaction.id}`,
    )
  const row = paymentOf(ctx.store, interaction.key)
  if (row?.side !== 'payee' || row.state !== 'held' || outgoing.kind !== kinds.message)
    return ctx.threads.queue(interaction, outgoing)
  const payload = withReceipts(outgoing, row)
  const queued = ctx.threads.queue(interaction, { ...outgoing, payload })
  keepOrder(ctx.store, interaction.key, orderFor(ctx, row, row.amount))
  holdBack(ctx.store, queued.message.key, ctx.now() + TAKEN_WITHIN_MS)
  ctx.store.afterCommit(() => ctx.wakers.payments.wake())
  return queued
}

/** The hold has ended: the answer that waits for it goes, with all that the hub has said. */
export function letAnswerGo(ctx: Pick<Needs, 'threads'>, row: PaymentRow): void {
  const answer = ctx.threads.byNumber(row.interaction, 'out', 1)
  if (row.outcome !== null || answer === undefined || !isPaidAnswer(answer)) return
  ctx.threads.complete(answer, withReceipts(answer, row))
}

function isPaidAnswer({ kind, payload }: Message): boolean {
  const decoded = decodePayload(kind, payload)
  return decoded.kind === kinds.message && decoded.payload.settlements !== undefined
}

function withReceipts(
  { kind, payload }: Pick<Outgoing, 'kind' | 'payload'>,
  { heldReceipt, endReceipt }: PaymentRow,
): Uint8Array {
  const decoded = decodePayload(kind, payload)
  if (decoded.kind !== kinds.message) return payload
  const receipts = [heldReceipt, endReceipt].filter(receipt => receipt !== null)
  const settlements = receipts.length === 0 ? undefined : receipts
  return encodePayload(kinds.message, { ...decoded.payload, ...present({ settlements }) })
}
