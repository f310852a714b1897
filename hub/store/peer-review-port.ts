/** Reviews that travel between hubs: what peers are told of those given here, and what they tell of theirs. */

/** Something that a peer is told; `fedSeq` rises, and is given once. */
export type ToldReview =
  | {
      fedSeq: number
      receipt: Uint8Array
      review: Uint8Array
      attestation: Uint8Array
      /** The key history of its provider. */
      kel: Uint8Array
    }
  /** All reviews of an agent that were told before are told no more. */
  | { fedSeq: number; withdrawn: string }

export type ToldReviewsQuery = { peer: string; after: number; limit: number; bytesMax: number }

/** What a peer told, in its order, as far as it holds. */
export type PeerReview = { provider: string; interaction: Uint8Array; rating: number } | { withdrawn: string }

export type TakePeerReviews = {
  hub: string
  items: readonly PeerReview[]
  /** How far the peer was read with these. */
  fedSeq: number
  /** So many reviews of this peer are kept, and no more. */
  max: number
}

/** `ratings` is the sum of all ratings that one hub attests. */
export type SourceReviews = { hub: string; reviews: number; ratings: number }

export interface PeerReviewStore {
  /** What a peer is told after a number, in order: at least one where there is any, however large it is. */
  toldReviews(query: ToldReviewsQuery): Promise<{ told: ToldReview[]; more: boolean }>
  /** Keeps what a peer told and how far it was read; tells how many found no room. A repeat changes nothing. */
  takePeerReviews(given: TakePeerReviews): Promise<{ left: number }>
  /** How far a peer was read; 0 at first. */
  peerReviewsRead(hub: string): Promise<number>
  /** Forgets all reviews that a peer told, and how far it was read. */
  forgetPeerReviews(hub: string): Promise<void>
  /**
   * Reviews of an agent that these hubs attest, by hub. One interaction counts once: for this hub where it has a review
   * of its own, else for the hub that told first.
   */
  peerReputation(provider: string, hubs: readonly string[]): Promise<SourceReviews[]>
}
