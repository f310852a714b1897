/** For tests that spend a share of a minute: they begin where the minute has room for all of it. */
import { setTimeout as pause } from 'node:timers/promises'

const MINUTE_MS = 60_000
const ROOM_MS = 20_000

export async function withinAMinute(): Promise<void> {
  const left = MINUTE_MS - (Date.now() % MINUTE_MS)
  if (left < ROOM_MS) await pause(left)
}
