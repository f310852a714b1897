/** What becomes of a message after an attempt: tried again, sent anew, or settled with a state that says why. */
import type { Context } from '../context.ts'
import { countResending, type OutboxEntry, sendAgainAt } from '../store/outbox.ts'
import type { DeliveryState } from '../store/threads.ts'

type Needs = Pick<
  Context,
  'store' | 'capabilities' | 'threads' | 'timings' | 'events' | 'now' | 'hubNow' | 'random'
>

const BACKOFF_MAX_MS = 10 * 60_000
const RESENT_MAX = 5

/** A number in [0, 1). */
export function fraction(ctx: Pick<Context, 'random'>): number {
  const [high, low] = ctx.random(2)
  return ((high as number) * 256 + (low as number)) / 65_536
}

/** Tries again after a pause that grows with the attempts, or after the time that was asked for; 0 is at once. */
export function retry(ctx: Needs, entry: OutboxEntry, reason: string, afterMs?: number): void {
  const backoff = Math.min(ctx.timings.backoffFirstMs * 2 ** entry.attempts, BACKOFF_MAX_MS)
  const jittered = backoff * (0.5 + fraction(ctx) / 2)
  const wait = afterMs === 0 ? 0 : Math.max(afterMs ?? 0, jittered)
  sendAgainAt(ctx.store, entry.message, ctx.now() + wait, reason)
}

/** The message is settled; a task that did not get through is over. */
export function finish(ctx: Needs, entry: OutboxEntry, state: DeliveryState, reason: string): void {
  const { store, threads } = ctx
  store.transaction(() => {
    if (!threads.setDelivery(entry.message, state, reason)) return
    ctx.capabilities.forgetIssued(entry.peer)
    const message = threads.message(entry.message)
    if (message.interaction !== null && message.number === 1 && message.kind === 0) {
      const interaction = threads.byKey(message.interaction)
      const became = state === 'failed' ? 'failed' : 'expired'
      if (interaction.state === 'queued') threads.update(interaction, { state: became, reason })
    }
    announce(ctx, entry, state)
  }, 'node.finish')
}

/** The hub no longer has the envelope, or the recipient could not take it: sent again, the same message. */
export function sendAnew(ctx: Needs, entry: OutboxEntry): void {
  if (ctx.now() >= entry.deadlineAt) finish(ctx, entry, 'unknown', 'deadline')
  else if (entry.resent >= RESENT_MAX) finish(ctx, entry, 'unknown', 'sent repeatedly without success')
  else {
    countResending(ctx.store, entry.message)
    const reason = isExpired(ctx, entry) ? 'expired' : 'to be sent again'
    retry(ctx, { ...entry, attempts: entry.resent }, reason)
  }
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
