/** What the parts of a running node share; composed once in node.ts. */
import type { Logger } from 'pino'
import type { Attachments } from './attachments/attachments.ts'
import type { Chain } from './chain/chain.ts'
import type { Config } from './home/config.ts'
import type { Identity } from './identity/identity.ts'
import type { MailboxKeys } from './identity/mailbox-keys.ts'
import type { TopUps } from './mail/top-ups.ts'
import type { Capabilities } from './peers/capabilities.ts'
import type { Contacts } from './peers/contacts.ts'
import type { PeerBook } from './peers/peers.ts'
import type { Events } from './platform/events.ts'
import type { Timings } from './platform/timings.ts'
import type { Store } from './store/open.ts'
import type { Threads } from './store/threads.ts'
import type { ReviewUploads } from './tasks/reviews.ts'

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
