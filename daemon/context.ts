/** What the parts of a running node share; composed once in node.ts. */
import type { Logger } from 'pino'
import type { Attachments } from './attachments.ts'
import type { Capabilities } from './capabilities.ts'
import type { Chain } from './chain.ts'
import type { Config } from './config.ts'
import type { Contacts } from './contacts.ts'
import type { Events } from './events.ts'
import type { Identity } from './identity.ts'
import type { MailboxKeys } from './mailbox-keys.ts'
import type { PeerBook } from './peers.ts'
import type { ReviewUploads } from './reviews.ts'
import type { Store } from './store/open.ts'
import type { Threads } from './threads.ts'
import type { Timings } from './timings.ts'
import type { TopUps } from './top-ups.ts'

export type Context = {
  readonly dir: string
  readonly identity: Identity
  readonly keys: MailboxKeys
  readonly store: Store
  readonly chain: Chain
  readonly contacts: Contacts
  readonly peers: PeerBook
  readonly capabilities: Capabilities
  readonly attachments: Attachments
  readonly threads: Threads
  readonly topUps: TopUps
  readonly reviewUploads: ReviewUploads
  readonly timings: Timings
  readonly events: Events
  readonly log: Logger
  readonly now: () => number
  /** The time as our hub sees it: that of envelopes, which others judge by their own clocks. */
  readonly hubNow: () => number
  readonly random: (length: number) => Uint8Array
  /** Why this machine holds an old copy of its identity, which signs nothing; undefined while it does not. */
  oldCopy(): string | undefined
  /** The configuration as it stands now. */
  config(): Config
}
