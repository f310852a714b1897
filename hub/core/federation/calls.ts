/**
 * What this hub asks of a peer. A peer that refuses is told by its refusal, as far as the route names its code; one that
 * gives no answer as `homeUnreachable`.
 */
import type { KeyEvent } from '../../../protocol/identity/kel.ts'
import type { ToldCard } from '../../store/peer-card-port.ts'
import type { ToldReview } from '../../store/peer-review-port.ts'
import type { DeliveryState } from '../../store/port.ts'
import type { Sent } from '../destination.ts'
import type { BucketAnswer, BucketAsked } from '../directory.ts'
import type { Peer } from './peers.ts'

/** `pieces` gives the bytes of the whole envelope, each time anew. */
export type Forwarded = {
  accessBytes: Uint8Array
  size: number
  pieces: () => AsyncIterable<Uint8Array>
}

export type PeerBucket = BucketAnswer
export type StatusItem = { rid: Uint8Array; handle: Uint8Array }
export type StatusAnswer = { state: DeliveryState['state']; dack: Uint8Array | undefined }

/**
 * A payment in the credits of a peer to an agent of this hub. `order`: what that agent signed about its hold · `asksEnd`:
 * whether the hold has ended is asked as well.
 */
export type PeerPaymentAsked = {
  authorization: Uint8Array
  holdSeconds: number | undefined
  order?: Uint8Array | undefined
  asksEnd?: boolean
}
/** What the peer signed; or the code for which it refused, which proves nothing. */
export type PeerPaymentAnswer = { receipt: Uint8Array; end: Uint8Array | undefined } | { refused: string }

/** What this hub thinks that it owes a peer, and one thing that was signed of it. */
export type DueTold = { due: number; restored?: Restored | undefined; proof?: ShownProof | undefined }
/** What the peer thinks that this hub owes it, and its last restore. */
export type OwedTold = { owed: number; restored: Restored | undefined }
/** When a hub was last restored, and since when it may lack something. */
export type Restored = { atMs: number; lostSinceMs: number }
/** The receipt of the payer's hub, or the statement of a creditor. */
export type ShownProof = { kind: 'receipt' | 'statement'; bytes: Uint8Array }

/** `more`: the peer has others to tell. */
export type FeedPage<Told> = { told: Told[]; more: boolean }
export type ReviewPage = FeedPage<ToldReview>
export type CardPage = FeedPage<ToldCard>

export interface PeerCalls {
  /** The key history that a peer shows of itself, not verified. */
  log(peer: Peer): Promise<KeyEvent[]>
  forward(peer: Peer, envelope: Forwarded): Promise<Sent>
  bucket(peer: Peer, query: BucketAsked, signal: AbortSignal): Promise<PeerBucket>
  status(peer: Peer, items: readonly StatusItem[]): Promise<StatusAnswer[]>
  settle(peer: Peer, payment: PeerPaymentAsked): Promise<PeerPaymentAnswer>
  clear(peer: Peer, told: DueTold): Promise<OwedTold>
  /** The record of its newest epoch, as a peer shows it. */
  epoch(peer: Peer): Promise<Uint8Array>
  /** What a peer tells of its reviews after a number; given up once `ended` aborts. */
  reviews(peer: Peer, after: number, ended: AbortSignal): Promise<ReviewPage>
  /** The same of its agents. */
  cards(peer: Peer, after: number, ended: AbortSignal): Promise<CardPage>
}
