/** The memory of a hub that is one process: all of it goes with the process. */
import type { Store } from '../../store/port.ts'
import type { Memory } from '../ports/memory.ts'
import { cachesInProcess } from './caches.ts'
import { GuestsInProcess } from './guests.ts'
import { LeaderInProcess } from './leader.ts'
import { ratesInProcess } from './rates.ts'
import { ReplayInProcess } from './replay.ts'
import { SessionsInProcess } from './sessions.ts'
import { sharesInProcess } from './shares.ts'
import { supplyHeadsInProcess } from './supply-heads.ts'
import { wakeUpsInProcess } from './wake-ups.ts'

export type MemoryNeeds = {
  store: Store
  random: (count: number) => Uint8Array
  /** When the process started, and the newest time that the one before it stored; 0 where there was none. */
  nowMs: number
  lastMs: number
}

export function memoryInProcess({ store, random, nowMs, lastMs }: MemoryNeeds): Memory {
  const waitingIn = (mailbox: number) => store.strangersWaiting(mailbox)
  return {
    caches: cachesInProcess(),
    guests: new GuestsInProcess(),
    leader: new LeaderInProcess(),
    rates: ratesInProcess(),
    replay: new ReplayInProcess({ store, nowMs, lastMs }),
    sessions: new SessionsInProcess(random),
    shares: sharesInProcess({ random, lastMs, waitingIn }),
    supply: supplyHeadsInProcess(store),
    wakeUps: wakeUpsInProcess(),
  }
}
