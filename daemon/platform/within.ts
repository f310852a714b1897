/** Waiting for work no longer than some time; the work goes on. */
import { setTimeout as pause } from 'node:timers/promises'

export async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const limit = new AbortController()
  await Promise.race([work, pause(ms, undefined, { signal: limit.signal })])
  limit.abort()
}
