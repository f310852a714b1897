/** What this hub asks of a peer about open mail, which both can read. One that gives no usable answer: `homeUnreachable`. */
import type { Forward } from '../../../protocol/mail/forward.ts'
import type { FeedPage } from '../federation/calls.ts'
import type { Peer } from '../federation/peers.ts'
import type { OpenReviewUpload } from '../open-reviews/evidence.ts'

/** `read` gives the bytes of the payload in pieces, as often as it is asked. */
export type SignedForward = {
  forward: Forward
  payload: { size: number; read: () => AsyncIterable<Uint8Array> }
  signature: Uint8Array
}

/** A card as a peer tells it: nothing of it is verified. `home`: the hub at which the agent registered. */
export type ToldOpenCard = { fedSeq: number; card: string; kel: Uint8Array; home: string }
export type ToldOpenReview = OpenReviewUpload & {
  fedSeq: number
  providerKel: Uint8Array
  reviewerKel: Uint8Array
}

export interface OpenPeerCalls {
  /** Hands a message on; `unknown`: its recipient is none of that peer's agents; `refused`: it takes none of this hub. */
  forward(peer: Peer, given: SignedForward): Promise<'taken' | 'unknown' | 'refused'>
  /** The key history that a peer shows of one, as it came; undefined where it gives none. */
  keyHistory(peer: Peer, aid: string): Promise<Uint8Array | undefined>
  /** What a peer tells of its agents after a number; given up once `ended` aborts. */
  cards(peer: Peer, after: number, ended: AbortSignal): Promise<FeedPage<ToldOpenCard>>
  /** The same of its reviews. */
  reviews(peer: Peer, after: number, ended: AbortSignal): Promise<FeedPage<ToldOpenReview>>
}
