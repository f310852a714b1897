/**
 * What brings messages from node to node. It is drawn at the message: how a wire seals, what it shows of itself and by what
 * it is let in, is the carrier's own. Whatever it learned and spent stands in the store when a call resolves.
 */
import type { VerifiedKel } from '../../protocol/identity/kel.ts'
import type { KeySet } from '../../protocol/identity/keyset.ts'
import type { MessageBody } from '../../protocol/mail/message.ts'
import type { OpenedMessage } from '../../protocol/mail/open.ts'
import type { HubClient, OtherPolls } from '../hubs/hub.ts'
import type { AtHub, OutboxEntry, WaitsFor } from '../store/outbox.ts'
import type { Reason } from '../store/reasons.ts'
import type { Verdict } from '../store/seen.ts'
import type { Lookup } from './lookup.ts'

/** Why a message waits. `refusedAs`: the code of a hub. */
export type Why = Reason<'hub'> & { refusedAs?: string }

/** What an attempt leaves a message to. */
export type Undelivered =
  /** It goes again after a while, or once what it waits for has come; 0 is at once. */
  | { outcome: 'again'; why: Why; afterMs?: number | undefined; waitsFor?: WaitsFor | undefined }
  /** It can never arrive. */
  | { outcome: 'final'; reason: string }
  /** Nobody is there any more to whom it, or anything else of its task, could go. */
  | { outcome: 'left'; reason: string }
  /** Its person held it back meanwhile. */
  | { outcome: 'held' }

/** What came of one attempt. `reached`: whether the hub was; undefined where the attempt ended before that. */
export type Delivered = { reached: boolean | undefined } & (
  | { outcome: 'at_hub'; at: Omit<AtHub, 'nextAt' | 'lastError'>; isQuiet: boolean }
  /** Its recipient has it. `isDirect`: it went past the hub, and the recipient signed that. */
  | { outcome: 'taken'; isDirect: boolean }
  /** Its recipient has judged it already. */
  | { outcome: 'judged'; fate: SignedVerdict }
  | Undelivered
)

/** What became of a message that a hub took. */
export type Fate =
  /** It waits there for its recipient. */
  | { is: 'waiting' }
  /** The hub knows nothing of it. */
  | { is: 'unknown' }
  /** Its recipient has it, or not: nothing proves what. */
  | { is: 'unproven'; why: string }
  /** Its recipient could not judge it as it was sent. */
  | { is: 'sent_in_vain' }
  /** Its recipient signed what it thinks of it. */
  | SignedVerdict

export type SignedVerdict = { is: 'judged'; verdict: Verdict }

/** Of what lets its sender in here, what a message shows; inside of the transaction that judges it. */
export type Credentials = {
  /** It came. */
  came(): void
  /** It was taken, and its sender's keys are known: what it brings is good. */
  taken(): void
}

/** A message that arrived, with what vouches for it. */
export type Arrived = {
  readonly body: MessageBody
  readonly digest: Uint8Array
  /** Until when the same message may come again. */
  readonly untilMs: number
  /** How it travelled: sealed for this node alone, or open to its hub. */
  readonly way: 'sealed' | 'open'
  /** The sender's log as merged with what is held, and its set, where the message brought them. */
  readonly log: VerifiedKel
  readonly keySet: KeySet | undefined
  readonly credentials: Credentials
}

/** The files of a message, verified as they are read. */
export type ArrivingFiles = { readonly body: Pick<MessageBody, 'attachments'> } & Pick<OpenedMessage, 'parts'>

/** Who takes what arrives. */
export type Taker = {
  /** The verdict that this very message had before. */
  earlier(arrived: Arrived): Verdict | undefined
  /** Signed with a key that is retired since: readers see it, and nothing follows. */
  showRetired(arrived: Arrived): void
  take(arrived: Arrived, files: ArrivingFiles): Promise<Verdict>
}

/** `waitMs`: for so long the hub may hold its answer where no mail is there. */
export type Collecting = { waitMs: number; signal: AbortSignal }
/** Messages that came, whether the hub held its answer as it was asked to, and which other polls it met meanwhile. */
export type Collected = { taken: number; held: boolean; others?: OtherPolls }
/** One look: where the next one goes on, and whether there is more now. */
export type Looked = Collected & { after: number | undefined; more: boolean }

/** What carries the mail of this node over one hub. */
export interface Carrier {
  deliver(entry: OutboxEntry): Promise<Delivered>
  /** What became of messages that went under one credential; throws where the hub gives no answer. */
  fatesOf(entries: readonly OutboxEntry[]): Promise<(Fate | undefined)[]>
  /** Empties the mailbox: what was taken is confirmed to its sender, what was not comes again. */
  collect(how: Collecting, by: Taker): Promise<Collected>
  /** Reads what waits behind `after`, and leaves it there. */
  look(how: Collecting & { after?: number | undefined }, see: (arrived: Arrived) => void): Promise<Looked>
}

/** The carriers of this node's hubs. */
export type Carriers = {
  over(hub: HubClient): Carrier
  /** Looks an agent up where the home hub can; throws what fails on this machine alone. */
  find(aid: string): Promise<Lookup>
}
