/** How many messages are in the outbox. */
import type { Store } from './open.ts'

export function outboxSize(store: Store): number {
  return store.get<{ n: number }>('SELECT count(*) AS n FROM outbox')?.n ?? 0
}

/** Of those, how many a person holds back, with what stands behind them. */
export function heldSize(store: Store): number {
  const held = store.get<{ n: number }>(
    `SELECT count(*) AS n FROM outbox AS o WHERE o.state = 'queued' AND EXISTS (
       SELECT 1 FROM outbox AS e
       WHERE e.interaction = o.interaction AND e.message <= o.message AND e.state = 'queued' AND e.waits_for = 'person')`,
  )
  return held?.n ?? 0
}

/** Of those, how many lie at a hub, and only their delivery is not known yet. */
export function atHubSize(store: Store): number {
  return store.get<{ n: number }>("SELECT count(*) AS n FROM outbox WHERE state = 'at_hub'")?.n ?? 0
}
