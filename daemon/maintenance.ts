/** What a node does by the clock: registration kept up to date, weekly keys, old mailboxes emptied, records expired. */
import type { Context } from './context.ts'
import { describe } from './outbox.ts'
import type { Registration } from './registration.ts'
import type { Relay } from './relay.ts'

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
  const round = async () => {
    expire(ctx)
    await registration.keepInSync(lifetime)
    await registration
      .pushToFormer()
      .catch(error => ctx.log.info({ reason: describe(error) }, 'former hub not told'))
    for (const hub of registration.draining())
      await relay
        .drain(hub, 0)
        .catch(error => ctx.log.info({ reason: describe(error) }, 'former mailbox not emptied'))
  }
  const run = () => {
    if (running) return
    running = true
    round()
      .catch(error => ctx.log.error({ err: error }, 'maintenance'))
      .finally(() => {
        running = false
      })
  }
  const timer = setInterval(run, ROUND_MS)
  run()
  return { run, [Symbol.dispose]: () => clearInterval(timer) }
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
