/** What every part of the core works with: identity, store, limits, and the outside world as parameters. */
import type { Timers } from '../../protocol/timers.ts'
import type { Blobs } from '../store/blob-port.ts'
import type { Store } from '../store/port.ts'
import type { Peers } from './federation/peers.ts'
import type { HubIdentity } from './identity.ts'
import type { Limits } from './limits.ts'
import type { Memory } from './ports/memory.ts'
import type { Verifier } from './verifier.ts'

export type Alert = (event: string, facts: Record<string, unknown>) => void

export type HubContext = {
  identity: HubIdentity
  store: Store
  /** Sealed envelopes in files. */
  blobs: Blobs
  /** Letters in files that the hub can read. */
  openBlobs: Blobs
  memory: Memory
  limits: Limits
  verifier: Verifier
  peers: Peers
  /** Secret behind stateless proof-of-work seeds; stored, so that a restart voids no proof. */
  secret: Uint8Array
  now: () => number
  timers: Timers
  random: (count: number) => Uint8Array
  /** Tells the operator about something that needs eyes. */
  alert: Alert
}
