/** How far the clock of a hub may be from the one of this machine, and what is said of two that are further apart. */
import { notAhead } from '../platform/clock.ts'
import { ClocksApart, DatedAhead, type HubClient } from './hub.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** A hub whose clock is further from ours than this is not followed: nothing is signed at a time that it makes up. */
export const CLOCKS_APART_MAX_MS = 24 * HOUR_MS

/** The time under which something for a hub is dated: as the hub sees it, and never later than it told. */
export function hubTime(hub: Pick<HubClient, 'timeMs' | 'knownTimeMs'>): number {
  return notAhead(hub.timeMs, hub.knownTimeMs)
}

/** Says how far the clock of a hub is from the one of this machine. */
export function clocksApart(offset: number): ClocksApart {
  return new ClocksApart(sayApart(offset))
}

/** The same of a hub that refuses something for its times; undefined where the clocks are no reason. */
export function sayClockFault({ apartMs = 0 }: Pick<HubClient, 'apartMs'>): string | undefined {
  return Math.abs(apartMs) < HOUR_MS ? undefined : sayApart(apartMs)
}

function sayApart(offset: number): string {
  const minutes = Math.round(Math.abs(offset) / MINUTE_MS)
  const apart = minutes < 120 ? `${minutes} minutes` : `${Math.round(minutes / 60)} hours`
  const side = offset > 0 ? 'ahead of' : 'behind'
  return `the clock of the hub is ${apart} ${side} the one of this machine; set this machine's clock, or use another hub if its clock is wrong`
}

/** Says from when on a hub takes a capability that was issued under a clock that ran ahead. */
export function sayTooEarly(beginsMs: number): string {
  return `the hub takes the capability of the recipient from ${new Date(beginsMs).toISOString()} on, because a clock ran ahead when the recipient issued it`
}

/** Says until when a hub takes no request of this identity, although both clocks are right now. */
export function floorAhead(floorMs: number): DatedAhead {
  return new DatedAhead(
    `the hub takes no request of this identity before ${new Date(floorMs).toISOString()}, because it has taken one that was dated so when a clock ran ahead; the clock of this machine agrees with that of the hub now, so leave it as it is, and ask the operator, to whom svc-hub clock says more`,
  )
}

/** Says until when a hub takes no event of this identity, or that one of the clocks is wrong now. */
export function datedAhead(
  eventMs: number,
  hub: Pick<HubClient, 'timeMs' | 'knownTimeMs' | 'apartMs'>,
): ClocksApart {
  const fault = sayClockFault(hub)
  if (fault !== undefined) return new ClocksApart(fault)
  const hours = Math.round((eventMs - hubTime(hub)) / HOUR_MS)
  return new DatedAhead(
    `the last key event of this identity is dated ${hours} hours ahead of the hub, because a clock ran ahead when it was made; the hub takes it from ${new Date(eventMs).toISOString()} on, or make another identity with svc id new <name>`,
  )
}
