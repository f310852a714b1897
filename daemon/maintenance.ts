/** What a node does by the clock: registration kept up to date, weekly keys, old mailboxes emptied, records expired. */
import type { Context } from './context.ts'
import { describe } from './outbox.ts'
import type { Registration } from './registration.ts'
import type { Relay } from './relay.ts'

const ROUND_MS = 10 * 60_000
const IDEMPOTENCY_KEPT_MS = 30 * 86_400_000

/** Starts the rounds; the function given back ends them. */
export function startMaintenance(
  ctx: Context,
  registration: Registration,
  relay: Relay,
  lifetime: AbortSignal,
): () => void {
  const round = async () => {
    expire(ctx)
    await registration.keepInSync(lifetime)
    for (const hub of registration.draining())
      await relay
        .drain(hub, 0)
        .catch(error => ctx.log.info({ reason: describe(error) }, 'former mailbox not emptied'))
  }
  const run = () => {
    round().catch(error => ctx.log.error({ err: error }, 'maintenance'))
  }
  const timer = setInterval(run, ROUND_MS)
  run()
  return () => clearInterval(timer)
}

/** Forgets what is past its time. */
export function expire(ctx: Context): void {
  const now = ctx.now()
  ctx.store.transaction(() => {
    ctx.store.run('DELETE FROM seen WHERE until < ?', now)
    ctx.store.run('DELETE FROM idempotency WHERE at < ?', now - IDEMPOTENCY_KEPT_MS)
    ctx.capabilities.clean()
  })
}
