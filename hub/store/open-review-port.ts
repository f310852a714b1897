/** Reviews of agents with open mail: each names its reviewer, and has the documents that its receipt binds. */
import type { Reputation } from './port.ts'

export type OpenReviewRow = {
  provider: string
  interaction: Uint8Array
  reviewer: string
  rating: number
  /** With the signatures of both sides. */
  receipt: Uint8Array
  review: Uint8Array
  request: Uint8Array
  deliverable: Uint8Array
}
/** `fedSeq` rises, and is given once. The logs are the newest that are held. */
export type HeldOpenReview = OpenReviewRow & {
  fedSeq: number
  providerKel: Uint8Array
  reviewerKel: Uint8Array
}
/** Who reviewed whom. */
export type OpenReviewEdge = Pick<OpenReviewRow, 'provider' | 'interaction' | 'reviewer' | 'rating'> & {
  fedSeq: number
}

export type AddOpenReview = OpenReviewRow & {
  /** The log of a provider that the registry here does not know. */
  providerKel: Uint8Array | undefined
  /** All reviews together take no more. */
  bytesMax: number
}
/** `ratings` is the sum of all ratings. */
export type OpenSums = { reviews: number; ratings: number }
/** At least one, however large it is. */
export type OpenReviewsQuery = {
  /** All where it is undefined. */
  provider: string | undefined
  after: number
  limit: number
  bytesMax: number
}

export interface OpenReviewStore {
  /** Keeps a review, one for each task of a provider. */
  addOpenReview(given: AddOpenReview): Promise<{ outcome: 'stored' | 'exists' | 'full' }>
  /** Who reviewed a task. */
  openReviewer(provider: string, interaction: Uint8Array): Promise<string | undefined>
  /** Reviews after a number, in order. */
  openReviews(query: OpenReviewsQuery): Promise<HeldOpenReview[]>
  openReviewEdges(query: { after: number; limit: number }): Promise<OpenReviewEdge[]>
  openReputation(provider: string): Promise<Reputation>
  /** What many are rated, by AID, in one question; who has no review is left out. */
  openSums(providers: readonly string[]): Promise<ReadonlyMap<string, OpenSums>>
  /** Over all providers. */
  openReviewTotals(): Promise<OpenSums>
}
