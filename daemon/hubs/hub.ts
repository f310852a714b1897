/** What the node needs of a hub, whichever wire version it speaks; nothing here names a route or a header. */

import type { ByteSource } from '../../protocol/crypto/chunked.ts'
import { Failure } from '../../protocol/encoding/errors.ts'
import type { AgentCard } from '../../protocol/identity/card.ts'
import { encodeKel, type KeyEvent, type VerifiedKel } from '../../protocol/identity/kel.ts'
import type { PathStep } from '../../protocol/proof/liability.ts'
import type { Quote } from '../../protocol/proof/quote.ts'
import type { Timers } from '../../protocol/timers.ts'
import type { Identity } from '../identity/identity.ts'
import type { TaskBoard } from './board.ts'
import type { BoardOrders } from './board-orders.ts'
import type { DirectAddresses } from './direct.ts'
import type { Connections } from './http.ts'
import type { OpenMail, OpenReviews } from './open-mail.ts'
import type { Publication } from './publication.ts'

/** What the clients of every wire are made of. */
export type HubInputs = {
  identity: Identity
  connections: Connections
  now: () => number
  timers: Timers
  random: (length: number) => Uint8Array
  /** Where large envelopes wait to be opened. */
  spoolFolder: string
  /** What looks at everything that is published. */
  publication: Publication
  /** Where orders for a task board outlive this process; without it no board is used. */
  orders?: BoardOrders
  /** Hears of the bytes of mail as they come, and of nothing once they are here. */
  receiving?: (bytes: number | undefined) => void
  /** Hears once for each key event that a hub refuses signatures under it: it may have missed the event. */
  keyRefused?: (url: string) => void
  /** Hears once for each key event that a hub calls retired: it may hold a later one, which another copy made. */
  keyRetired?: (url: string) => void
}

/** One version of what node and hub say to each other. */
export type Wire = {
  readonly number: number
  /** Whether what travels under it is sealed end to end. */
  readonly sealed: boolean
  /** Asks the hub at an address who it is; throws {@link OtherWire} when it speaks another one. */
  meet(url: string, inputs: HubInputs): Promise<HubIdentity>
  open(url: string, identity: HubIdentity, inputs: HubInputs): HubClient
}

/** How a card names the way to an agent of this hub; `priceList`: the extension in which the hub reads prices. */
export type CardBinding = {
  path: string
  binding: string
  extension: string
  wire: number
  description: string
  /** What is taken there. */
  tasks: string
  priceList?: string
}

/** A hub as it presented itself. */
export type HubIdentity = { aid: string; wire: number; log: VerifiedKel; bitsMax: number }

/** `pricing` is text for readers, `guestMessages` how many a visitor may send; both where a hub shows or counts them. */
export type Profile = {
  name: string
  caps: string[]
  summary: string
  readme: string
  pricing?: string
  guestMessages?: number
}

export type PowChallenge = { seed: Uint8Array; bits: number; notAfterMs: number }
export type PowSolution = { seed: Uint8Array; nonce: Uint8Array }

export type RegisterRequest = {
  log: VerifiedKel
  profile?: Profile
  keySet?: Uint8Array
  prevSeq?: number
  pow?: PowSolution
  card?: AgentCard | undefined
}
export type RegisterReply = {
  keysStatus: string
  cardStatus: string
  probationUntilMs?: number
  trial?: string
}

export type Delivery = {
  recipient: string
  /** The hub that the recipient's log names. */
  home: string
  access: Uint8Array
  digest: Uint8Array
  size: number
  /** First contact needs a session; a capability is its own credential. */
  credential: 'session' | 'capability'
  content: () => ByteSource
  /** Ends it on its way. */
  signal?: AbortSignal
}
/** `isQuiet`: the recipient has not collected any mail for a while, as its hub says. */
export type SendReply = { rid: string; viaHub?: string; duplicate: boolean; isQuiet?: boolean }

/** `older`: this poll ended another one that waited · `newer`: another poll ended this one. */
export type OtherPolls = { older: boolean; newer: boolean }
export type PolledEnvelope = { id: number; source: ByteSource; acceptedAtMs: number }
/** One answer of the mailbox; disposing it removes what was spooled. */
export type PollReply = Disposable & {
  envelopes: PolledEnvelope[]
  more: boolean
  /** Whether the hub held the poll as it was asked to. */
  held: boolean
  /** Other polls of this mailbox that it met; undefined where the hub says nothing of them. */
  others?: OtherPolls
  notice?: Uint8Array
}
export type AckItem = { id: number; handle?: Uint8Array; dack?: Uint8Array }
/** A receipt with both signatures and the provider's log, the review, and the salt that opens the commitment. */
export type ReviewUpload = { receipt: Uint8Array; review: Uint8Array; rsalt: Uint8Array }
export type StatusItem = { rid: string; handle: Uint8Array; viaHub?: string }
export type StatusReply = { state: 'queued' | 'done' | 'unknown'; dack?: Uint8Array }
export type BucketReply = { entries: { h: Uint8Array; box: Uint8Array }[]; partial: boolean; bits: number }

export type ListedAgent = {
  aid: string
  name: string
  caps: string[]
  summary: string
  /** What its key history, as the hub shows it, names as its home; not verified. */
  home: string | undefined
  lastSeenMs: number | null
  registeredAtMs: number
  quiet: boolean
}

/** What a hub owes this agent, in whole credits, and the latest of what moved, newest first. */
export type HubAccount = {
  network: string
  balance: number
  held: number
  probationUntilMs: number | undefined
  trial: 'pending' | 'granted' | undefined
  entries: AccountEntry[]
}

export type AccountEntry = {
  /** Rises with each entry of the whole hub. */
  seq: number
  atMs: number
  /** Above 0 what came, below what went. */
  delta: number
  reason: string
  transaction: string | undefined
  counterparty: string | undefined
}

export type SupplyPage = {
  chainDid: string
  records: Uint8Array[]
  headSeq: number
  headId: string
  isLast: boolean
}
/** What a witness of its supply chain signed, not verified; the key history stands beside one of each witness. */
export type ShownStatement = { bytes: Uint8Array; kel: Uint8Array | undefined }
/** The proof that an account stands in the tree of an epoch. */
export type Liability = { record: Uint8Array; balance: number; salt: Uint8Array; path: PathStep[] }

/**
 * What a hub says of a payment: its signed receipt, not yet verified, with that of the payer's hub where that is another
 * one; or in its words why there is none.
 */
export type Settled = { receipt: Uint8Array; peerReceipt?: Uint8Array } | { refused: string; says: string }

/** Whether a hub has no answer for want of that of another hub, which makes or ends the payment with it. */
export const waitsForOtherHub = (answer: object): boolean =>
  'refused' in answer && answer.refused === 'settlement_pending'

/** What a hub says of a hold: its receipts, not yet verified, that of the end where it has ended; or why there is none. */
export type HoldSaid =
  | { receipt: Uint8Array; peerReceipt?: Uint8Array; end: Uint8Array | undefined }
  | { refused: string; says: string }

/** Credits of this agent at a hub, and what the hub publishes of them. */
export interface HubCredits {
  /**
   * What the wire of the hub has: `holds` credits until work is done, `names` the transaction of each entry, `proves` what it
   * owes by a tree.
   */
  readonly can: { holds: boolean; names: boolean; proves: boolean }
  /** An authorization as text, as this hub reads it. */
  textOf(authorization: Uint8Array): string
  /** The account at this hub, with so many entries at most. */
  account(entriesMax: number, signal: AbortSignal): Promise<HubAccount>
  /** What moved after an entry, as far as the hub still shows it, newest first. */
  entriesAfter(seq: number, signal: AbortSignal): Promise<AccountEntry[]>
  /**
   * What this agent signed, as the hub shows it for debits since a time, not verified, by the transaction. None for what a
   * hub of an earlier release took.
   */
  authorizationsSince(sinceMs: number, signal: AbortSignal): Promise<Map<string, Uint8Array>>
  /** The networks in whose credits agents of this hub are paid: its own, and those of other hubs that may owe it. */
  networks(signal: AbortSignal): Promise<string[]>
  /**
   * Asks the hub to move, or to hold, what an authorization gives for a quote; a repeat gets the same receipt. `signed`: what
   * the hub signed of it, which it may have lost by a restore and then takes back.
   */
  settle(
    authorization: Uint8Array,
    quote: Quote,
    signal: AbortSignal,
    signed?: Uint8Array | null,
  ): Promise<Settled>
  /**
   * How the hold of an authorization that the hub has settled has ended; nothing where it has not, or where the hub is of
   * a release that does not say it. One that was not settled would be by this.
   */
  endOf(authorization: Uint8Array, quote: Quote, signal: AbortSignal): Promise<HoldSaid>
  /** Takes credits out of circulation against a reference. */
  redeem(authorization: Uint8Array, reference: string, signal: AbortSignal): Promise<Settled>
  /** Takes a hold, or gives all of it back, by an order of the payee. */
  endHold(order: Uint8Array, end: 'capture' | 'release', signal: AbortSignal): Promise<Settled>
  /** Records of its supply chain from a number on, not verified, and the head that it names. */
  supplyRecords(from: number, signal: AbortSignal): Promise<SupplyPage>
  /** What its witnesses signed; nothing where it has none, or knows of none. */
  witnessStatements(signal: AbortSignal): Promise<ShownStatement[]>
  /**
   * The note over the tree of its chain that a witness cosigned last, or the one of that name, not verified; undefined
   * where it knows of none, or where a hub of an earlier release cannot be asked for one witness.
   */
  checkpoint(signal: AbortSignal, cosigner?: string): Promise<string | undefined>
  /** What it says shows that the tree of an old size is where that of a later one began. */
  consistency(old: number, size: number, signal: AbortSignal): Promise<Uint8Array[]>
  /** Its word on what it owes this agent; undefined where it has none for the newest epoch. */
  liability(signal: AbortSignal): Promise<Liability | undefined>
}

/** What a hub does for mail that is sealed end to end: envelopes, their handles, and the buckets that hide who is looked up. */
export interface SealedMail {
  send(delivery: Delivery): Promise<SendReply>
  poll(options: { waitSeconds: number; afterId?: number; signal: AbortSignal }): Promise<PollReply>
  ack(items: AckItem[]): Promise<void>
  /** What went under a session is asked for where the hub knows who asks; anything else where it does not. */
  deliveryStates(credential: Delivery['credential'], items: StatusItem[]): Promise<StatusReply[]>
  bucket(hash: Uint8Array): Promise<BucketReply>
  revoke(capabilityIds: Uint8Array[]): Promise<void>
  /** The next first contact goes under a session of the newest key. */
  dropSession(): void
}

/** One hub, one client: signed calls leave one after another with strictly rising times. */
export interface HubClient {
  readonly url: string
  readonly identity: HubIdentity
  /** Its sealed mailboxes; undefined at a hub that reads what it carries. */
  readonly mail: SealedMail | undefined
  /** Its open mailboxes; undefined at a hub that carries sealed mail. */
  readonly openMail: OpenMail | undefined
  readonly cardBinding: CardBinding
  /** Why the node talks to this hub no longer; undefined while it does. */
  readonly stopped: string | undefined
  /** The time as this hub sees it, as far as its answers told. */
  readonly timeMs: number
  /** The time that this hub told last, and what has passed since; undefined before its first answer. */
  readonly knownTimeMs: number | undefined
  /** By how much that time is ahead of the clock of this machine. */
  readonly apartMs: number | undefined
  readonly lastContactAtMs: number | undefined
  /**
   * Asks the hub anew who it is; another identity or a contradicting log ends the conversation. One that ended because
   * of the hub's wire goes on where the hub speaks ours again: looked at once an hour, or at once where it `isAsked`.
   */
  refresh(isAsked?: boolean): Promise<void>
  /** Asks whether the hub would take this identity; `invite`: the code of its operator. */
  checkAdmission(log: VerifiedKel, invite?: string): Promise<'admitted' | 'open'>
  register(request: RegisterRequest): Promise<RegisterReply>
  publishKeys(keySet: Uint8Array, prevSeq: number): Promise<void>
  pushLog(log: VerifiedKel): Promise<void>
  fetchLog(aid: string): Promise<KeyEvent[]>
  /** Log and key set of a registered agent; undefined when the hub has none of that. A hub of open mail has no sets. */
  fetchAgent(aid: string): Promise<{ log: KeyEvent[]; keySet: Uint8Array | undefined } | undefined>
  updateProfile(profile: Profile): Promise<void>
  setVisibility(visibility: 'hub-local' | 'federated' | 'public'): Promise<void>
  deregister(): Promise<void>
  /** The canonical text of the card that the hub serves of an agent. */
  fetchCard(aid: string): Promise<string | undefined>
  /** The address that the hub gives itself. */
  publicUrl(): Promise<string | undefined>
  /** Talks to this hub no longer, and says why. */
  halt(why: string): void
  readonly credits: HubCredits
  /** Until when this hub takes no reviews of this agent, as far as it said so. */
  readonly probationUntilMs: number | undefined
  /** Gives the hub's attestation; throws {@link HubStopped} where `openReviews` is what it takes. */
  uploadReview(upload: ReviewUpload): Promise<Uint8Array>
  /** Reviews that publish task and answer, under the reviewer's name; undefined at a hub that takes hidden ones. */
  readonly openReviews: OpenReviews | undefined
  /** Bytes of a text about prices that it takes; 0 at a hub that publishes none. */
  readonly pricingBytesMax: number
  /** Its task board; undefined where the wire has none. */
  readonly board: TaskBoard | undefined
  /** Addresses at which agents are reached without their hub; undefined at a hub that lists none. */
  readonly direct: DirectAddresses | undefined
  listAgents(query: {
    q?: string
    cap?: string
    limit: number
    cursor?: string
    signal?: AbortSignal
  }): Promise<{ agents: ListedAgent[]; next?: string }>
}

/** A hub as the store keeps it. */
export const presented = ({ url, identity }: Pick<HubClient, 'url' | 'identity'>) => ({
  url,
  aid: identity.aid,
  wire: identity.wire,
  log: encodeKel(identity.log.events),
  bits: identity.bitsMax,
})

/** The node has stopped talking to a hub, and says why. */
export class HubStopped extends Failure {
  override name: string = 'HubStopped'
}

/** This node itself has stopped talking to a hub, which has no part in it: it is an old or a second copy. */
export class HubHalted extends HubStopped {
  override name = 'HubHalted'
}

/** No answer came: the network, or the machine of the hub. */
export class HubUnreachable extends Failure {
  override name: string = 'HubUnreachable'
  constructor(url: string, options?: ErrorOptions) {
    super(`hub unreachable: ${new URL(url).origin}`, options)
  }
}

/** The call ended because the node stops; the hub has no part in it. */
export class NodeStopping extends Failure {
  override name = 'NodeStopping'
  constructor(options?: ErrorOptions) {
    super('this node is stopping', options)
  }
}

/** Something else than a hub answers at this address. */
export class NoHub extends Failure {
  override name = 'NoHub'
}

/** The hub speaks another wire than the one in which it was asked; `spoken` is its number where the hub says it. */
export class OtherWire extends HubStopped {
  override name = 'OtherWire'
  readonly spoken: number | undefined
  constructor(message: string, spoken?: number) {
    super(message)
    this.spoken = spoken
  }
}

/** The wire of the hub is spoken here, and another one was named. */
export class WireMisnamed extends HubStopped {
  override name = 'WireMisnamed'
}

/** The hub reads the mail of its agents, and nobody has said yet that this is all right. */
export class UnsealedHub extends HubStopped {
  override name = 'UnsealedHub'
}

/** The clocks of hub and node are too far apart to sign anything; ends by itself once they are set. */
export class ClocksApart extends Failure {
  override name: string = 'ClocksApart'
}

/** Something of this identity lies in the future of the hub; neither clock needs to be set. */
export class DatedAhead extends ClocksApart {
  override name = 'DatedAhead'
}
