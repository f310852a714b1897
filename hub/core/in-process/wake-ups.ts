/** Word to all who listen in one process. */
import type { WakeUp, WakeUps } from '../ports/wake-ups.ts'

type Hear = (mailbox: number, what: WakeUp) => void

export function wakeUpsInProcess(): WakeUps {
  const listening = new Set<{ hear: Hear }>()
  return {
    tell(mailbox, what) {
      for (const { hear } of listening) hear(mailbox, what)
    },
    listen(hear) {
      const one = { hear }
      listening.add(one)
      return () => void listening.delete(one)
    },
    lookEveryMs: undefined,
  }
}
