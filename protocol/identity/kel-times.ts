/** Which times the events of a key event log may have when a hub or a node takes them in. */
import type { VerifiedKel } from './kel.ts'

/** How far an event may be after now, in milliseconds, objects §4. */
export const EVENT_AHEAD_MAX_MS = 5 * 60_000
/** How far the last event of a new registration may be before now, in milliseconds, objects §4. */
export const EVENT_BEHIND_MAX_MS = 10 * 60_000

/** Whether an event lies further ahead of a time than anybody takes it. */
export const isAhead = (ts: number, now: number): boolean => ts > now + EVENT_AHEAD_MAX_MS

/**
 * Whether the new events of a log (those from `fromSeq`) have acceptable times. The lower bound holds only for the
 * last event of a registration that is new to the hub and names it (`registeringAt`).
 */
export function timesAcceptable(
  log: VerifiedKel,
  fromSeq: number,
  now: number,
  registeringAt?: string,
): boolean {
  const fresh = log.events.slice(fromSeq)
  if (fresh.some(event => isAhead(event.body.ts, now))) return false
  if (fresh.length === 0 || registeringAt === undefined || log.home !== registeringAt) return true
  return isFresh(log.ts, now)
}

/** Whether the last event of a log that is new to a hub may have this time. */
export const isFresh = (ts: number, now: number): boolean =>
  !isAhead(ts, now) && ts >= now - EVENT_BEHIND_MAX_MS
