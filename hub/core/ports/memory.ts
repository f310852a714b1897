/** What the processes of one hub remember beside the store. Nothing of it is the truth of a mailbox or of a balance. */
import type { Caches } from './caches.ts'
import type { GuestSessions } from './guests.ts'
import type { Leader } from './leader.ts'
import type { Rates } from './rates.ts'
import type { Replay } from './replay.ts'
import type { OpenSessions } from './sessions.ts'
import type { Shares } from './shares.ts'
import type { SupplyHeads } from './supply-heads.ts'
import type { WakeUps } from './wake-ups.ts'

export type Memory = {
  caches: Caches
  guests: GuestSessions
  leader: Leader
  rates: Rates
  replay: Replay
  sessions: OpenSessions
  shares: Shares
  supply: SupplyHeads
  wakeUps: WakeUps
}
