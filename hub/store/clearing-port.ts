/**
 * Clearing (credits: between hubs): what this hub and a peer say of what one owes the other, what was signed of it, and
 * what is booked because the other one showed it. Figures are net; below 0 it is the other one that owes.
 */
import type { Posting, PostResult } from './ledger-port.ts'

export type ClearingState = {
  peer: string
  /** The last transfer that was there when both said the same; 0 while they never did. */
  agreedSeq: number
  agreedMs: number | undefined
  /** The last look: what this hub thought that it owes, and what the peer did. */
  atMs: number | undefined
  due: number
  owed: number
  /** Looks in a row that ended with a difference which nothing explains. */
  rounds: number
  /** `owed` less `due` that the operator accepted. */
  accepted: number
  /** Since when no new payment crosses. */
  stoppedMs: number | undefined
  /** The peer's newest epoch that was compared. */
  epoch: { day: number; published: number; claim: number } | undefined
}

/** One transfer between this hub and a peer, with what was signed of it by the hub of the payer, or the creditor. */
export type PeerTransfer = { seq: number; atMs: number; kind: 'receipt' | 'statement'; bytes: Uint8Array }

/** This moment: what this hub owes the peer, its last transfer, and what the peer may have made and this hub not yet booked. */
export type PeerFigures = { due: number; seq: number; waiting: number }

export interface ClearingStore {
  /** Of a peer with which nothing was cleared yet: one without figures. */
  clearing(peer: string): Promise<ClearingState>
  putClearing(state: ClearingState): Promise<void>
  peerFigures(peer: string): Promise<PeerFigures>
  /** Those with proof, after a transfer in their order or before one in the opposite order; `next`: where the rest begins. */
  peerTransfers(
    query: { peer: string; limit: number } & ({ after: number } | { before: number }),
  ): Promise<{ transfers: PeerTransfer[]; next: number | undefined }>
  /** Statements that were booked after a transfer, in order. */
  clearedAfter(seq: number): Promise<Uint8Array[]>
  /** Statements that were booked under a reference. */
  clearedUnder(reference: string): Promise<Uint8Array[]>
  /** The least that the peer owed this hub since a time, as this hub has it. */
  leastClaim(peer: string, sinceMs: number): Promise<number>
  /** Posts several transfers, all or none: a failure where one does not fit. */
  postTogether(postings: readonly Posting[]): Promise<PostResult['outcome']>
}
