/** What a node does by the clock: registration kept up to date, weekly keys, old mailboxes emptied, records expired. */
import type { Context } from './context.ts'
import { describe } from './hubs/failures.ts'
import type { Relay } from './mail/relay.ts'
import type { Registration } from './membership/registration.ts'
import { forgetCommitted } from './store/idempotency.ts'
import { forgetVerdicts } from './store/seen.ts'
import { expireUnanswered } from './tasks/deadlines.ts'
import { disputeOverdueReceipts } from './tasks/receipts.ts'

const ROUND_MS = 10 * 60_000
const IDEMPOTENCY_KEPT_MS = 30 * 86_400_000

export type Maintenance = Disposable & { run(): void }

/** Starts the rounds, the first at once; one at a time. */
export function startMaintenance(
  ctx: Context,
  registration: Registration,
  relay: Relay,
  lifetime: AbortSignal,
): Maintenance {
  let running = false
  let again = false
  const round = async () => {
    // What cannot be cleared away (a full disk, a chain that needs its owner) holds up nothing else.
    const chores = [expire, expireUnanswered, () => ctx.keys.deleteOld(), () => ctx.chain.drain()]
    for (const chore of chores) attempt(ctx, chore)
    await Promise.all([registration.keepInSync(lifetime), registration.pushToFormer()])
    for (const hub of registration.draining())
      await relay
        .drain(hub, 0)
        .catch(error => ctx.log.info({ reason: describe(error) }, 'former mailbox not emptied'))
  }
  const run = () => {
    again = running
    if (running) return
    running = true
    round()
      .catch(error => ctx.log.error({ err: error }, 'maintenance'))
      .finally(() => {
        running = false
        if (again && !lifetime.aborted) run()
      })
  }
  const timer = setInterval(run, ROUND_MS)
  run()
  return { run, [Symbol.dispose]: () => clearInterval(timer) }
}

function attempt(ctx: Context, chore: (ctx: Context) => void): void {
  try {
    chore(ctx)
  } catch (error) {
    ctx.log.error({ err: error }, 'maintenance')
  }
}

/** Forgets what is past its time. */
export function expire(ctx: Context): void {
  const now = ctx.now()
  ctx.store.transaction(() => {
    forgetVerdicts(ctx.store, now)
    forgetCommitted(ctx.store, now - IDEMPOTENCY_KEPT_MS)
    ctx.capabilities.clean()
    disputeOverdueReceipts(ctx)
  })
}
