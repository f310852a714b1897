/** What the hub's ledger asks of the store: one transfer at a time, whole, once for ever; and the supply chain beside it. */
import type { JudgedBy } from './port.ts'
import type { KeptVoucher } from './voucher-port.ts'

export type AccountKind = 'issue' | 'retired' | 'agent' | 'held' | 'peer'
/** AID of an agent or a peer, transaction of a hold as text, nothing for the hub's own two. */
export type AccountName = { kind: AccountKind; name: string }

/** Why credits move; `redemption` and the grants have a record in the supply chain as well. */
export type TransferReason =
  | 'trial'
  | 'grant'
  | 'payment'
  | 'hold'
  | 'capture'
  | 'return'
  | 'refund'
  | 'redemption'
  | 'restored'
  | 'cleared'

/** One step of a transfer: so much from one account to another. */
export type Move = { from: AccountName; to: AccountName; amount: number }

/** The newest record of the supply chain. */
export type SupplyHead = { seq: number; id: Uint8Array }
export type NewSupplyRecord = SupplyHead & { record: Uint8Array; previous: Uint8Array }

/** One transfer, all of it or nothing. */
export type Posting = {
  /** 36 bytes of a transaction, or 32 of another id: posted once, for ever. */
  id: Uint8Array
  reason: TransferReason
  atMs: number
  /** What its owner calls its amount: all that was paid, held, captured or given back. */
  amount: number
  /** One, or two with the same `from`. */
  moves: Move[]
  /** The payment whose hold ends, or that is given back. */
  about?: Uint8Array | undefined
  /** What was signed for it. */
  receipt?: Uint8Array | undefined
  /** What the payer signed for it. */
  authorization?: Uint8Array | undefined
  reference?: string | undefined
  /** Between whom it moves, where an account of a hold stands between them. */
  parties?: { payer: AccountName; payee: AccountName } | undefined
  /** Opens a hold between the parties until then, in the account that the move goes to. */
  holdUntilMs?: number | undefined
  /** The hub of the payee of that hold, where it is another one. */
  holdPeer?: AccountName | undefined
  /** All that was given back of `about`, this one included, stays within so much. */
  refundsMax?: number | undefined
  /** At most so much is given as trial credits from this time on, this one included, and once to each account. */
  trials?: { sinceMs: number; max: number } | undefined
  supply?: NewSupplyRecord | undefined
  /** What its payer gets for it. */
  voucher?: KeptVoucher | undefined
  /** Rows of the registry by which it was judged: where one has changed since, nothing is posted. */
  judgedBy?: readonly JudgedBy[] | undefined
}

export type PostedTransfer = {
  seq: number
  reason: TransferReason
  amount: number
  atMs: number
  receipt: Uint8Array | undefined
  /** None of a transfer that an earlier release posted. */
  authorization: Uint8Array | undefined
  reference: string | undefined
}

/**
 * `insufficient`: an account has too little · `overflow`: a sum would be too large · `noHold`: the hold has ended ·
 * `refundedOver`, `trialsOver`: the bound was reached · `headMoved`: the supply chain has gone on · `moved`: a row by which
 * it was judged has changed · `stopped`: the books do not agree.
 */
export type PostResult =
  | { outcome: 'posted'; seq: number }
  | { outcome: 'held'; transfer: PostedTransfer }
  | {
      outcome:
        | 'insufficient'
        | 'overflow'
        | 'noHold'
        | 'refundedOver'
        | 'trialsOver'
        | 'headMoved'
        | 'moved'
        | 'stopped'
    }

export type OpenHold = {
  transaction: Uint8Array
  payer: string
  payee: string
  amount: number
  untilMs: number
  /** The hub of its payee, where it is another one. */
  peer: string | undefined
}

export type Holdings = { balance: number; held: number; lapsed: number }

export type LedgerEntry = {
  seq: number
  atMs: number
  delta: number
  reason: TransferReason
  /** The transaction that it belongs to; none for grants. */
  transaction: Uint8Array | undefined
  /** The other side, where it is an agent. */
  counterparty: string | undefined
}

export type RedemptionRow = {
  seq: number
  atMs: number
  aid: string
  amount: number
  /** None of one that came back from a witness. */
  reference: string | undefined
  transaction: Uint8Array | undefined
}

/** No authorization from before this time is settled: it may have been, in the time that was lost. */
export const RESTORED_SETTING = 'restored_ms'
/** From this time on a hub that was restored may lack something: that of its backup, or of an earlier one. */
export const LOST_SINCE_SETTING = 'lost_since_ms'
/** Who may have seen more of the supply chain in that time: witnesses that were named before, as a list of AIDs. */
export const AWAITED_SETTING = 'restored_witnesses'

export type Totals = {
  agents: number
  holds: number
  issued: number
  retired: number
  owedByPeers: number
  dueToPeers: number
}

/** Everything of which an epoch is made, of one moment. */
export type LedgerSnapshot = {
  totals: Totals
  ledgerHw: number
  head: SupplyHead | undefined
  /** What the rows sum up to, equal to the totals unless the store is damaged; undefined where a row is wrong. */
  recount: Totals | undefined
  /** What each agent is owed: its balance and the holds that it made, above 0, in AID order. */
  owed: { aid: string; amount: number }[]
}

/** An epoch whose proofs are kept, its record, and how many accounts it counts. */
export type KeptEpoch = { day: number; seq: number; accounts: number }

/** A part of what the proofs of an epoch are made from: names in the order of the leaves, or nodes of a level. */
export type ProofPiece = { day: number; level: number; piece: number; bytes: Uint8Array }
/** The level of {@link ProofPiece} that holds the names. */
export const NAMES_LEVEL = -1

export type ReturnedSupply = {
  records: NewSupplyRecord[]
  epochs: KeptEpoch[]
  keptSinceDay: number
  postings: Posting[]
}

export interface LedgerStore {
  post(posting: Posting): Promise<PostResult>
  /** A transfer by its id. */
  transfer(id: Uint8Array): Promise<PostedTransfer | undefined>
  /** What an agent has, what its open holds have, and what of them has lapsed by now. */
  holdings(aid: string, nowMs: number): Promise<Holdings>
  openHold(transaction: Uint8Array): Promise<OpenHold | undefined>
  /** Open holds that have lapsed by now: of one payer, or of all, at most `limit`. */
  lapsedHolds(nowMs: number, limit: number, payer?: string): Promise<OpenHold[]>
  /** Newest first, before a sequence number and not older than `sinceMs`. */
  ledgerEntries(query: {
    aid: string
    before: number | undefined
    sinceMs: number
    limit: number
    reason?: TransferReason | undefined
  }): Promise<LedgerEntry[]>
  /** How many entries an agent has in all, and what they sum up to. */
  accountTotals(aid: string): Promise<{ entries: number; sum: number }>
  /** The first entry of an agent that is not older; undefined where it has none. */
  oldestEntry(aid: string, sinceMs: number): Promise<number | undefined>
  /** Registered agents, in AID order after one, that are past their probation and have had no trial credits. */
  withoutTrial(query: { afterAid: string; nowMs: number; limit: number }): Promise<string[]>
  supplyHead(): Promise<SupplyHead | undefined>
  supplyRecords(from: number, limit: number): Promise<{ seq: number; id: Uint8Array; record: Uint8Array }[]>
  /** Keeps a piece of an epoch that is to come. */
  addProofPiece(piece: ProofPiece): Promise<void>
  /** Adds an epoch to the supply chain if its head is still the one before, and forgets the proofs of earlier days. */
  appendEpoch(record: NewSupplyRecord, epoch: Omit<KeptEpoch, 'seq'>, keptSinceDay: number): Promise<boolean>
  /** Records that were here before, with their epochs and transfers: all of it, or nothing and a failure. */
  returnSupply(given: ReturnedSupply): Promise<void>
  /** The epoch of a day, or the newest one. */
  keptEpoch(day: number | undefined): Promise<KeptEpoch | undefined>
  proofPiece(of: Omit<ProofPiece, 'bytes'>): Promise<Uint8Array | undefined>
  /** The last transfer; 0 while there is none. */
  ledgerHw(): Promise<number>
  /** Of one moment. */
  snapshot(): Promise<LedgerSnapshot>
  /** What the hub owes, and what it issued and retired since the beginning. */
  creditTotals(): Promise<Totals>
  /** What agents took out, newest first, before a sequence number and not older than `sinceMs`. */
  redemptions(query: { sinceMs: number; before: number | undefined; limit: number }): Promise<RedemptionRow[]>
  /** Whether what stands in the totals is what the rows sum up to. */
  booksAgree(): Promise<boolean>
}
