/** Waiting for work no longer than some time; the work goes on. */
import { sleep, type Timers } from '../../protocol/timers.ts'

export async function within(timers: Timers, ms: number, work: Promise<unknown>): Promise<void> {
  const limit = new AbortController()
  await Promise.race([work, sleep(timers, ms, limit.signal)])
  limit.abort()
}
