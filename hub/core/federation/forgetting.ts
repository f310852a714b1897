/** What was read of hubs that are no peers any more is forgotten, by the one process that leads in it. */
import type { HubContext } from '../context.ts'
import type { Duty } from '../ports/leader.ts'

const FORGET_EVERY_MS = 10_000

export type Forgetting = {
  duty: Duty
  /** The hubs of which something is stored. */
  hubs(): Promise<string[]>
  keeps(hub: string): boolean
  forget(hub: string): Promise<void>
}

/** Returns how to end. */
export function keepForgetting(
  { memory, timers, alert }: HubContext,
  { duty, hubs, keeps, forget }: Forgetting,
): () => void {
  const pass = async (): Promise<void> => {
    try {
      await memory.leader.lead(duty, async () => {
        for (const hub of await hubs()) if (!keeps(hub)) await forget(hub)
      })
    } catch (error) {
      alert('cards of a former peer could not be forgotten', { error: String(error) })
    }
  }
  const timer = timers.every(FORGET_EVERY_MS, () => void pass())
  timer.unref()
  return () => timers.clear(timer)
}
