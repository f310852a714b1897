/** How many messages are in the outbox, and of which kinds. */
import { kinds } from '../../protocol/mail/payload.ts'
import type { Store } from './open.ts'

/** The code with which a hub refuses for another one that did not answer it. */
export const HOME_UNREACHABLE = 'home_unreachable'

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

/** Receipts and counter-signatures on their way: they name a key state. */
export function signaturesOnTheWay(
  store: Store,
): { message: number; interaction: number; kind: typeof kinds.receipt | typeof kinds.counterSignature }[] {
  return store.all(
    `SELECT o.message, o.interaction, m.kind FROM outbox AS o JOIN messages AS m ON m.key = o.message
     WHERE m.kind IN (?, ?) ORDER BY o.message`,
    kinds.receipt,
    kinds.counterSignature,
  )
}

/** Messages for which a hub is awaited: to whom they go, and the hub that has them, where one has. */
export function awaitingHubs(store: Store): { peer: string; hub: string | null; messages: number }[] {
  return store.all(
    `SELECT peer, iif(state = 'at_hub', via_hub, NULL) AS hub, count(*) AS messages
     FROM outbox WHERE refused_as = ? GROUP BY 1, 2`,
    HOME_UNREACHABLE,
  )
}
