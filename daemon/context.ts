/** What the parts of a running node share: the line between the rooms below it, which never take it, and those above. */
import type { Logger } from 'pino'
import type { Timers } from '../protocol/timers.ts'
import type { Attachments } from './attachments/attachments.ts'
import type { Carriers } from './carrier/carrier.ts'
import type { Chain } from './chain/chain.ts'
import type { Settings } from './home/settings.ts'
import type { CurrentHub } from './hubs/current.ts'
import type { Identity } from './identity/identity.ts'
import type { MailboxKeys } from './identity/mailbox-keys.ts'
import type { DeliveryCapabilities } from './peers/capabilities.ts'
import type { Contacts } from './peers/contacts.ts'
import type { PeerBook } from './peers/peers.ts'
import type { Events } from './platform/events.ts'
import type { Notices } from './platform/notices.ts'
import type { Timings } from './platform/timings.ts'
import type { Transfers } from './platform/transfers.ts'
import type { Wakers } from './platform/waker.ts'
import type { Store } from './store/open.ts'
import type { Threads } from './store/threads.ts'

/** Everything below the line, as ground.ts puts it together. */
export type Ground = {
  readonly dir: string
  readonly identity: Identity
  readonly keys: MailboxKeys
  readonly store: Store
  readonly chain: Chain
  readonly contacts: Contacts
  readonly peers: PeerBook
  readonly capabilities: DeliveryCapabilities
  readonly attachments: Attachments
  readonly threads: Threads
  readonly hub: CurrentHub
  readonly settings: Settings
  readonly wakers: Wakers
  readonly timings: Timings
  readonly events: Events
  readonly transfers: Transfers
  readonly notices: Notices
  readonly log: Logger
  readonly now: () => number
  readonly timers: Timers
  /** The time as our hub sees it: that of envelopes, which others judge by their own clocks. */
  readonly hubNow: () => number
  readonly random: (length: number) => Uint8Array
  /** Aborts once the node stops, and ends what it waits for outside. */
  readonly ending: AbortSignal
}

/** What the modules of this build serve. */
export type Served = {
  serves(capability: string): boolean
  /** What a call costs; undefined where it is free. */
  priceOf(capability: string): number | undefined
  /** Capabilities for the directory: those of the settings, and those that modules offer. */
  offered(): string[]
}

export type Context = Ground & {
  readonly modules: Served
  /** What brings messages to and from other nodes. */
  readonly carriers: Carriers
  /** Looks after the stock of delivery capabilities that a peer holds of ours. */
  readonly topUps: { note(peer: string): void; hurry(peer: string): void }
}
