/** What becomes of a message after an attempt: tried again, sent anew, or settled with a state that says why. */
import type { Why } from '../carrier/carrier.ts'
import type { Context } from '../context.ts'
import { keepLasting, lasting } from '../store/lasting.ts'
import { unknownSince } from '../store/messages.ts'
import {
  countResending,
  doubtAtHub,
  entriesAtHub,
  type OutboxEntry,
  overdueEntries,
  sendAgainAt,
  type WaitsFor,
} from '../store/outbox.ts'
import { ownReason } from '../store/reasons.ts'
import { type DeliveryState, MESSAGE_DEADLINE_MS } from '../store/threads.ts'

type Needs = Pick<
  Context,
  'store' | 'capabilities' | 'threads' | 'timings' | 'events' | 'log' | 'now' | 'hubNow' | 'random'
>

const BACKOFF_MAX_MS = 10 * 60_000
const RESENT_SOON = 5
const RESENT_LATER_MS = 6 * 3_600_000
/** What a hub may have lost is asked about within this time. */
const DOUBTED_ASKED_MS = 10_000
const DAYS = MESSAGE_DEADLINE_MS / 86_400_000
export const OVERDUE = `not known to have arrived within ${DAYS} days, after which it is tried no more`

/** A number in [0, 1). */
export function fraction(ctx: Pick<Context, 'random'>): number {
  const [high, low] = ctx.random(2)
  return ((high as number) * 256 + (low as number)) / 65_536
}

type Again = { why: Why; afterMs?: number | undefined; waitsFor?: WaitsFor | undefined }

/** Tries again after a pause that grows with the attempts, or after the time that was asked for; 0 is at once. */
export function retry(ctx: Needs, entry: OutboxEntry, { why, afterMs, waitsFor }: Again): void {
  const backoff = Math.min(ctx.timings.backoffFirstMs * 2 ** entry.attempts, BACKOFF_MAX_MS)
  const jittered = backoff * (0.5 + fraction(ctx) / 2)
  const wait = afterMs === 0 ? 0 : Math.max(afterMs ?? 0, jittered)
  sendAgainAt(ctx.store, entry.message, { ...why, at: ctx.now() + wait, waitsFor })
  // once for each reason, or an evening without a hub fills the log
  const { reason } = why
  if (reason === entry.lastError) return
  const said = {
    message: entry.message,
    attempt: entry.attempts + 1,
    reason,
    again_in_s: Math.ceil(wait / 1000),
  }
  ctx.log.info(said, 'not sent; it is tried again from its beginning')
}

/** The message is settled, for a reason in words of this node; a task that did not get through is over. */
export function finish(ctx: Needs, entry: OutboxEntry, state: DeliveryState, reason: string): void {
  const { store, threads } = ctx
  store.transaction(() => {
    if (!threads.setDelivery(entry.message, state, reason)) return
    ctx.capabilities.forgetIssued(entry.peer)
    const message = threads.message(entry.message)
    if (message.interaction !== null && message.number === 1 && message.kind === 0) {
      const interaction = threads.byKey(message.interaction)
      const became = state === 'failed' ? 'failed' : 'expired'
      if (interaction.state === 'queued') threads.update(interaction, { state: became, ...ownReason(reason) })
    }
    announce(ctx, entry, state)
  }, 'node.finish')
}

/** Settles a message whose time is over; false while it is not. */
export function endIfOverdue(ctx: Needs, entry: OutboxEntry): boolean {
  const now = ctx.now()
  if (now < entry.deadlineAt) return false
  finish(ctx, entry, 'unknown', OVERDUE)
  keepLasting(ctx.store, { gaveUpAt: now })
  return true
}

/** A clock that ran ahead gave messages up before their time: once it is right they go again. */
export function takeUpGivenUp(ctx: Pick<Needs, 'store' | 'threads' | 'now'>): void {
  const gaveUpAt = lasting(ctx.store, 'gaveUpAt')
  const now = ctx.now()
  if (gaveUpAt === undefined || gaveUpAt <= now) return
  for (const key of unknownSince(ctx.store, now - MESSAGE_DEADLINE_MS)) ctx.threads.queueAgain(key)
  keepLasting(ctx.store, { gaveUpAt: null })
}

/** Settles what is past its time and of which no hub will say more, as where there is none to ask. */
export function endOverdue(ctx: Needs & Pick<Context, 'hub'>): void {
  const { home } = ctx.hub
  const asks = home !== undefined && home.stopped === undefined
  for (const entry of overdueEntries(ctx.store, ctx.now()))
    if (entry.state === 'queued' || !asks) endIfOverdue(ctx, entry)
}

/** The hub no longer has the envelope, or the recipient could not take it: sent again, the same message. */
export function sendAnew(
  ctx: Needs,
  entry: OutboxEntry,
  { why = 'to be sent again', waitsFor }: { why?: string; waitsFor?: WaitsFor } = {},
): void {
  if (endIfOverdue(ctx, entry)) return
  countResending(ctx.store, entry.message)
  const reason = isExpired(ctx, entry) ? 'expired' : why
  // a hub that takes a message and loses it again and again gets it ever less often, up to the deadline
  const pause = entry.resent < RESENT_SOON ? undefined : RESENT_LATER_MS
  const again = { why: ownReason(reason), afterMs: pause, waitsFor }
  retry(ctx, { ...entry, attempts: entry.resent }, again)
}

/**
 * The hub does not know an envelope that has not expired, as after it was put back to an older state: it may have lost
 * the others of its task as well, and all of them go again in their order.
 */
export function sendLost(ctx: Needs, entry: OutboxEntry): void {
  const { store } = ctx
  const lost = entry.interaction === null ? [entry] : entriesAtHub(store, entry.interaction)
  for (const one of lost) sendAnew(ctx, one)
  // what it holds of other tasks is doubtful too, and nothing that is said there overtakes it
  doubtAtHub(store, ctx.now() + DOUBTED_ASKED_MS)
}

/** Whether the hub gives the last envelope to nobody any more. */
export function isExpired(ctx: Needs, { expiresAt }: OutboxEntry): boolean {
  return expiresAt !== null && ctx.hubNow() >= expiresAt
}

/** Tells listeners, once it is durable, what became of a message of an interaction. */
export function announce(ctx: Needs, entry: OutboxEntry, state: DeliveryState): void {
  if (entry.interaction === null) return
  const { threads, store, events } = ctx
  const about = {
    interaction_id: threads.byKey(entry.interaction).id,
    number: threads.message(entry.message).number,
    state,
  }
  store.afterCommit(() => events.emit('delivery', about))
}
