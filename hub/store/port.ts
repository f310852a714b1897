/**
 * What the hub asks of its store: operations that are each atomic and may be repeated when their outcome is unknown;
 * an engine commits what arrives together as one transaction, in which each fails alone. The store reads no clock and draws no randomness; times and ids are passed in.
 */
import { Failure, Refusal, systemCode } from '../../protocol/encoding/errors.ts'
import type { BoardStore } from './board-port.ts'
import type { ClearingStore } from './clearing-port.ts'
import type { InviteStore } from './invite-port.ts'
import type { LedgerStore } from './ledger-port.ts'
import type { Archiving, ModerationStore } from './moderation-port.ts'
import type { OpenCardStore } from './open-card-port.ts'
import type { MailKind, OpenMailStore } from './open-mail-port.ts'
import type { OpenPeerStore } from './open-peer-port.ts'
import type { OpenReviewStore } from './open-review-port.ts'
import type { PeerCardStore } from './peer-card-port.ts'
import type { PeerPaymentStore } from './peer-payment-port.ts'
import type { PeerReviewStore } from './peer-review-port.ts'
import type { VoucherStore } from './voucher-port.ts'
import type { WitnessStore } from './witness-port.ts'

/** The disk is full: sends are refused, everything that makes room goes on. */
export class StoreFull extends Failure {
  override name = 'StoreFull'
}

/** Another program has locked the store: writes wait for it, and are refused when that takes too long. */
export class StoreLocked extends Failure {
  override name = 'StoreLocked'
}

/** The database can't be reached, or takes nothing now: what was asked is refused, and asked again later. Its outcome may be unknown. */
export class StoreAway extends Failure {
  override name = 'StoreAway'
}

/** The disk failed under a write: nothing more may be written by this process. */
export class StoreBroken extends Failure {
  override name = 'StoreBroken'
}

/** The engine refused something; its own words are the message. */
export class EngineFault extends Failure {
  override name = 'EngineFault'
}

/** The store was written by a newer release, or its directory is in use. */
export class StoreRefused extends Refusal<'store'> {
  override name = 'StoreRefused'
  constructor(sentence: string, options?: ErrorOptions) {
    super('store', sentence, options)
  }
}

/** Whether there was no room: the system and the store say so each in its own way. */
export function isFull(error: unknown): boolean {
  const code = systemCode(error)
  return code === 'ENOSPC' || code === 'EDQUOT' || error instanceof StoreFull
}

/**
 * Whether the latest write failed for want of room, because another program locked the store or because the database is
 * away; or all do for good.
 */
export type StoreHealth = { full: boolean; locked: boolean; away: boolean; broken: boolean }

export type Visibility = 'hub-local' | 'federated' | 'public'

/** Which agents a listing asks for. */
export type ListQuery = {
  afterAid: string
  limit: number
  /** Only those whose fields hold it, in any case. */
  text?: string | undefined
  /** Only those with any of these capability tags; `*` at the end of one stands for a family. */
  caps?: readonly string[] | undefined
  /** Only those whose card has all of these terms. */
  terms?: readonly string[] | undefined
  /** Only those that chose to be public. */
  onlyPublic?: boolean | undefined
  /** Only those whose mail is open; without it, only the others. */
  open?: boolean | undefined
  /** No more is read for one page, also where little of it fits the query; at least one row is. */
  bytesMax: number
  rowsMax: number
}

/** One page, and the AID after which the next one begins; a page may be empty and not the last. */
export type ListedAgents = { rows: AgentRow[]; next: string | undefined }

/** The registry's row of one agent. Key event log and key sets are kept as they were received. */
export type AgentRow = {
  /** Local number of the agent and its mailbox; 0 before the first write. */
  number: number
  aid: string
  /** Rises with every write; a write names the version that it read. 0 before the first. */
  version: number
  /** False once the agent has left; its key event log is still served. */
  registered: boolean
  name: string
  caps: string[]
  summary: string
  readme: string
  visibility: Visibility
  kel: Uint8Array
  keys: Uint8Array | undefined
  /** The key set before the present one; its kids are accepted until `keysBeforeUntilMs`. */
  keysBefore: Uint8Array | undefined
  keysBeforeUntilMs: number
  registeredDayMs: number
  probationUntilMs: number
  seenHourMs: number
  /** The signed card as text; only one under the present key state. */
  card: string | undefined
  mail: MailKind
}

/** Two key events of one identity at the same place, each signed. */
export type ForkProof = { aid: string; seq: number; held: Uint8Array; submitted: Uint8Array; seenMs: number }

/** Entries from `first` to `last` (both included), after `afterH` where given; at least one, however large it is. */
export type BucketQuery = {
  first: Uint8Array
  last: Uint8Array
  afterH: Uint8Array | undefined
  /** Without the entries of agents whose visibility is `hub-local`. */
  onlyFederated: boolean
  limit: number
  bytesMax: number
}

export type DirectoryEntry = { h: Uint8Array; box: Uint8Array }

/** Limits of one mailbox that the operator raised or lowered; undefined means the hub's default. */
export type Quota = {
  envelopesMax?: number | undefined
  bytesMax?: number | undefined
  strangerEnvelopesMax?: number | undefined
  strangerBytesMax?: number | undefined
  strangerPerMinute?: number | undefined
}

export type Account = { admitted: boolean; blocked: boolean; floorMs: number; quota: Quota }

/** One AID as the operator sees it: what he set for it, and what stands of it in the registry. */
export type Overview = {
  aid: string
  registered: boolean
  admitted: boolean
  blocked: boolean
  name: string
  registeredDayMs: number
  seenHourMs: number
  /** Envelopes and bytes that wait for it. */
  envelopes: number
  bytes: number
}

/** A row of the registry by which a write was judged, and its version then. */
export type JudgedBy = { aid: string; version: number }

/** One envelope to be queued. `content` holds its bytes, which the engine may take along, or `file` names the blob that does. */
export type Enqueue = {
  mailbox: number
  /** Version of the row of its agent by which it was judged; without one it is queued whatever the row says now. */
  judgedBy?: number | undefined
  digest: Uint8Array
  nowMs: number
  deleteAtMs: number
  size: number
  stranger: boolean
  content: Uint8Array | undefined
  file: string | undefined
  use: { capability: Uint8Array; perDayMax: number } | undefined
  limits: {
    envelopesMax: number
    bytesMax: number
    strangerEnvelopesMax: number
    strangerBytesMax: number
    timesPerDayMax: number
  }
}

/** `rid` is given by the place, so that whoever writes need not name it. */
export type EnqueueResult = Exclude<EnqueueOutcome, Queued> | (Queued & { rid: Uint8Array })
type Queued = { outcome: 'queued'; id: number }
export type EnqueueOutcome =
  | Queued
  | { outcome: 'duplicate'; rid: Uint8Array }
  /** The row by which it was judged has changed since. The content comes back, so that it may be judged anew. */
  | { outcome: 'moved'; content: Uint8Array | undefined }
  | {
      outcome:
        | 'mailboxFull'
        | 'strangersFull'
        | 'queuedTooOften'
        | 'capabilitySpent'
        | 'capabilityRevoked'
        | 'noMailbox'
    }

export type AckItem = { id: number; handle: Uint8Array | undefined; dack: Uint8Array | undefined }
export type Ack = { mailbox: number; items: AckItem[]; keepUntilMs: number }
/** `ids` were removed now; `files` are the blobs that nothing names any more. */
export type AckResult = { acked: number; stored: number; ids: number[]; files: string[] }

export type WaitingEnvelope = {
  id: number
  acceptedMs: number
  size: number
  /** The blob that holds its bytes; those of others are asked for by id. */
  file: string | undefined
}

export type DeliveryState =
  | { state: 'queued' | 'unknown' }
  | { state: 'done'; handle: Uint8Array | undefined; dack: Uint8Array | undefined; fetched: boolean }

export type PutAgent = {
  row: AgentRow
  /** The agent's directory entry from now on; undefined takes it out. */
  entry: DirectoryEntry | undefined
  /** What finds the agent's card: `skill:<id>` and `tag:<tag>`. */
  terms: readonly string[]
  /** What a new account takes that came by work. */
  signUp?: SignUp | undefined
  /** What one takes that was invited. */
  invite?: { hash: Uint8Array; nowMs: number } | undefined
  /** Marks it as archived, or takes that back. */
  archiving?: Archiving | undefined
}
/** `dropped` counts the envelopes that went with an agent that is not registered any more. */
export type PutAgentResult =
  | { outcome: 'stored'; number: number; version: number; dropped: number; files: string[] }
  /** `archived`: it would be registered again while the operator keeps it off. */
  | { outcome: 'conflict' | 'archived' | SignUpRefused }

/** One place among the new accounts that the range of an address has in a UTC day, and a proof of work for it. */
export type SignUp = {
  day: number
  /** Keyed hash of the range. */
  range: Uint8Array
  perDayMax: number
  proof: Uint8Array
  /** The proof holds so long, and is remembered for it. */
  proofUntilMs: number
}
export type SignUpRefused = 'rangeFull' | 'proofUsed' | 'inviteGone'

export type SweepResult = { envelopes: { mailbox: number; id: number }[]; files: string[]; more: boolean }

/** `ratings` is the sum of all ratings. */
export type StoreCounts = { agents: number; onlineAgents: number; reviews: number; ratings: number }

/** Sums over all mailboxes. */
export type MailTotals = {
  mailboxes: number
  envelopes: number
  bytes: number
  strangerEnvelopes: number
  revocations: number
}

/** One transaction: how many changes it took, and how long until it was on the disk. */
export type GroupCommitted = { changes: number; ms: number }

/** A review as it is kept; `reviewer` tells reviewers of one provider apart and names none. */
export type StoredReview = {
  provider: string
  interaction: Uint8Array
  reviewer: Uint8Array
  rating: number
  receipt: Uint8Array
  review: Uint8Array
  attestation: Uint8Array
  /** The key history of the provider, and the hub that its last event names. */
  kel: Uint8Array
  home: string | undefined
}

/** `ratings` is the sum of all ratings, `mostOfOne` the number of reviews by the reviewer with the most. */
export type Reputation = { reviews: number; ratings: number; reviewers: number; mostOfOne: number }

/** What only a store on the disk of this machine can do. */
export interface LocalStore {
  /** Where another thread of this process may read. */
  readonly path: string
  /** Bytes that files, and that rows, may still take. */
  room(): Promise<{ disk: number; rows: number }>
  /** Gives up the room kept for a full disk; false where there was none. */
  giveUpReserve(): Promise<boolean>
}

export interface Store
  extends LedgerStore,
    BoardStore,
    InviteStore,
    ClearingStore,
    ModerationStore,
    OpenMailStore,
    OpenCardStore,
    OpenPeerStore,
    OpenReviewStore,
    PeerCardStore,
    PeerPaymentStore,
    PeerReviewStore,
    VoucherStore,
    WitnessStore {
  /** Undefined where the rows lie elsewhere. */
  readonly local: LocalStore | undefined
  /** Queues an envelope. */
  enqueue(item: Enqueue): Promise<EnqueueResult>
  /** Removes envelopes from a mailbox and keeps the confirmations that came along. */
  ack(change: Ack): Promise<AckResult>
  /** Waiting envelopes of a mailbox after an id, in id order, unexpired, at most `bytesMax` unless the first is larger. */
  poll(query: {
    mailbox: number
    afterId: number
    limit: number
    bytesMax: number
    nowMs: number
  }): Promise<{ envelopes: WaitingEnvelope[]; more: boolean }>
  /** By id, the bytes of envelopes that lie in their rows; one that is gone or lies in a file has none here. */
  contents(of: { mailbox: number; ids: readonly number[] }): Promise<ReadonlyMap<number, Uint8Array>>
  status(rids: Uint8Array[]): Promise<DeliveryState[]>
  /**
   * Whether this digest waits in the mailbox, and under which rid, for those of strangers or in a file; another may be
   * missed here, but not by `enqueue`.
   */
  findQueued(mailbox: number, digest: Uint8Array): Promise<Uint8Array | undefined>
  /** Waiting envelopes of non-contacts in a mailbox. */
  strangersWaiting(mailbox: number): Promise<number>
  /** Marks confirmations as fetched; they are kept until `keepUntilMs` at most. */
  markFetched(rids: Uint8Array[], keepUntilMs: number): Promise<void>
  revoke(change: {
    mailbox: number
    capabilities: Uint8Array[]
    deleteAtMs: number
    nowMs: number
    max: number
  }): Promise<{ outcome: 'revoked'; revoked: number; total: number } | { outcome: 'full' }>
  isRevoked(mailbox: number, capability: Uint8Array): Promise<boolean>

  findAgent(aid: string): Promise<AgentRow | undefined>
  /** Writes a registry row if nobody wrote it since it was read; an agent that is not registered keeps no mail. */
  putAgent(change: PutAgent): Promise<PutAgentResult>
  /** New accounts of a range in a day that came by work. */
  signUps(of: Pick<SignUp, 'day' | 'range'>): Promise<number>
  /** Whether a proof of work has made an account. */
  isProofUsed(proof: Uint8Array): Promise<boolean>
  /** Notes the hour in which an agent last collected mail. */
  markSeen(number: number, hourMs: number): Promise<void>
  /** Registered agents after an AID in AID order. */
  listAgents(query: ListQuery): Promise<ListedAgents>
  /** Directory entries of a bucket in order, as many as one answer may hold, and whether there are more. */
  bucket(query: BucketQuery): Promise<{ entries: DirectoryEntry[]; more: boolean }>
  counts(seenSinceMs: number): Promise<StoreCounts>

  hasReview(provider: string, interaction: Uint8Array): Promise<boolean>
  /**
   * Keeps a review; false when its interaction has one. Peers are told of it where its provider is registered here and
   * more than `hub-local`; of one that is not registered here, `home` alone is told.
   */
  addReview(review: StoredReview): Promise<boolean>
  reputation(provider: string): Promise<Reputation>

  /** Keeps the two signed events of a fork as proof; the first pair of a place stays. */
  keepForkProof(proof: ForkProof): Promise<void>

  account(aid: string): Promise<Account>
  /** Stores a floor if it is higher than the one held. */
  raiseFloor(aid: string, floorMs: number): Promise<void>
  admit(aid: string, admitted: boolean): Promise<void>
  block(aid: string, blocked: boolean): Promise<void>
  /** AIDs that the registry or the operator knows, after one in AID order. */
  overview(query: { afterAid: string; limit: number }): Promise<Overview[]>
  overviewOf(aid: string): Promise<Overview | undefined>
  /** Refuses newcomers of an address range, or takes that back. */
  refuseRange(range: string, refused: boolean): Promise<void>
  refusedRanges(): Promise<string[]>
  setQuota(aid: string, quota: Quota): Promise<void>
  setting(name: string): Promise<string | undefined>
  putSetting(name: string, value: string): Promise<void>

  /** Deletes what has expired, at most `limit` rows of each kind. */
  sweep(nowMs: number, limit: number): Promise<SweepResult>
  /** Which of these blob names no envelope holds. */
  unusedFiles(names: string[]): Promise<string[]>
  totals(): Promise<MailTotals>
  /** Quick integrity check: an empty list, or what is wrong. */
  check(): Promise<string[]>
  /** Ends all writing: a file beside the rows could not be brought to the disk. */
  fail(error: StoreBroken): Promise<void>
  /** As this process has met it; never fails. */
  health(): Promise<StoreHealth>
  /** Finishes the writes under way, checkpoints and closes. */
  close(): Promise<void>
}
