/** The memory of a hub that is one process: all of it goes with the process. */
import type { Store } from '../../store/port.ts'
import type { Memory } from '../ports/memory.ts'
import { ratesInProcess } from './rates.ts'
import { SessionsInProcess } from './sessions.ts'
import { sharesInProcess } from './shares.ts'

export type MemoryNeeds = {
  store: Store
  random: (count: number) => Uint8Array
  /** The newest time that the process before this one stored; 0 where there was none. */
  lastMs: number
}

export function memoryInProcess({ store, random, lastMs }: MemoryNeeds): Memory {
  const waitingIn = (mailbox: number) => store.strangersWaiting(mailbox)
  return {
    rates: ratesInProcess(),
    sessions: new SessionsInProcess(random),
    shares: sharesInProcess({ random, lastMs, waitingIn }),
  }
}
