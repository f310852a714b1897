/** What a node does by the clock: registration kept up to date, weekly keys, old mailboxes emptied, records expired. */
import type { Context } from './context.ts'
import { describe } from './hubs/failures.ts'
import { askNumbers } from './mail/numbers.ts'
import type { Relay } from './mail/relay.ts'
import { endOverdue, takeUpGivenUp } from './mail/steps.ts'
import type { Membership } from './membership/membership.ts'
import { Loop } from './platform/loop.ts'
import { takeUpPushes } from './store/a2a.ts'
import { forgetCommitted } from './store/idempotency.ts'
import { takeUpPutOff } from './store/outbox.ts'
import { takeUpPayments } from './store/payments.ts'
import { takeUpReviews } from './store/reviews.ts'
import { indexMessages } from './store/search.ts'
import { forgetVerdicts } from './store/seen.ts'
import { expireUnanswered } from './tasks/deadlines.ts'
import { mendReceipts } from './tasks/receipt-provider.ts'
import { disputeOverdueReceipts } from './tasks/receipt-requester.ts'

type Needs = Pick<
  Context,
  | 'identity'
  | 'keys'
  | 'store'
  | 'chain'
  | 'contacts'
  | 'peers'
  | 'capabilities'
  | 'attachments'
  | 'threads'
  | 'hub'
  | 'wakers'
  | 'events'
  | 'log'
  | 'now'
  | 'hubNow'
  | 'timings'
  | 'random'
>

const ROUND_MS = 10 * 60_000
/** Pause before the next round when the hub could not be told everything. */
const RETRY_MS = 60_000
/** Longer than any message, review or push waits for its next try. */
const PUT_OFF_MAX_MS = 4 * 86_400_000
/** Longer than any payment waits for the next question to its hub. */
const PAYMENT_PUT_OFF_MAX_MS = 3_600_000
const IDEMPOTENCY_KEPT_MS = 30 * 86_400_000

/** Starts the rounds, the first at once; one at a time, the next after a pause or when it is woken. */
export function startMaintenance(ctx: Needs, membership: Membership, relay: Relay): AsyncDisposable {
  const loop = new Loop({
    name: 'maintenance',
    waker: ctx.wakers.rounds,
    log: ctx.log,
    restFirstMs: ctx.timings.backoffFirstMs,
    turn: async signal => ((await round(ctx, membership, relay, signal)) ? ROUND_MS : RETRY_MS),
  })
  loop.start()
  return { [Symbol.asyncDispose]: () => loop.stop() }
}

async function round(
  ctx: Needs,
  membership: Membership,
  relay: Relay,
  signal: AbortSignal,
): Promise<boolean> {
  // An old copy stays as it is.
  if (ctx.hub.oldCopy !== undefined) return true
  doChores(ctx)
  const [isInSync] = await Promise.all([membership.keepInSync(signal), membership.pushToPrevious()])
  if (ctx.hub.unasked !== undefined) return isInSync
  for (const hub of membership.draining())
    await relay
      .drain(hub, 0)
      .catch(error => ctx.log.info({ reason: describe(error) }, 'previous mailbox not emptied'))
  return isInSync
}

// What cannot be cleared away (a full disk, a chain that needs its owner) holds up nothing else.
const chores: readonly ((ctx: Needs) => void)[] = [
  expire,
  expireUnanswered,
  askNumbers,
  hurryHeld,
  endOverdue,
  ctx => ctx.store.transaction(() => mendReceipts(ctx), 'node.receipt'),
  ctx => ctx.keys.deleteOld(),
  ctx => ctx.chain.drain(),
  ctx => indexMessages(ctx.store),
  ctx => ctx.attachments.removeOldTexts(),
]

export function doChores(ctx: Needs): void {
  for (const chore of chores) attempt(ctx, chore)
}

function attempt(ctx: Needs, chore: (ctx: Needs) => void): void {
  try {
    chore(ctx)
  } catch (error) {
    ctx.log.error({ err: error }, 'maintenance')
  }
}

/** Forgets what is past its time. */
export function expire(ctx: Needs): void {
  const now = ctx.now()
  ctx.store.transaction(() => {
    takeUpGivenUp(ctx)
    takeUpPutOff(ctx.store, now, now + PUT_OFF_MAX_MS)
    takeUpReviews(ctx.store, now, now + PUT_OFF_MAX_MS)
    takeUpPushes(ctx.store, now, now + PUT_OFF_MAX_MS)
    takeUpPayments(ctx.store, ctx.hubNow(), ctx.hubNow() + PAYMENT_PUT_OFF_MAX_MS)
    forgetVerdicts(ctx.store, now)
    forgetCommitted(ctx.store, now - IDEMPOTENCY_KEPT_MS)
    ctx.capabilities.clean()
    disputeOverdueReceipts(ctx)
  })
}

/** Nothing that can leave under a capability waits for the next day of strangers. */
function hurryHeld({ capabilities, wakers }: Needs): void {
  if (capabilities.hurryHeld()) wakers.outbox.wake()
}
