/** Waiting for work no longer than some time; the work goes on. */
import type { Timer, Timers } from '../../protocol/timers.ts'

export async function within(timers: Timers, ms: number, work: Promise<unknown>): Promise<void> {
  let timer: Timer | undefined
  const limit = new Promise<void>(resolve => {
    timer = timers.after(ms, resolve)
  })
  await Promise.race([work, limit]).finally(() => timers.clear(timer))
}
