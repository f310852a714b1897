/** What a hub does that reads the mail of its agents: open mailboxes, and reviews that publish what they rate. */

export type OpenKind = 'delegate' | 'result' | 'message'
/** `interaction`: the id of a task as text, empty where it belongs to none. */
export type OpenLetter = {
  to: string
  from: string
  kind: OpenKind
  interaction: string
  payload: Uint8Array
}
/** `id` is empty where another hub has it, whose AID is `viaHub`. */
export type TakenLetter = { id: string; viaHub: string | undefined; isQuiet: boolean }
/** As the hub gives it out; what it says of sender and task is the word of whoever sent it. */
export type PolledLetter = Omit<OpenLetter, 'to' | 'kind' | 'payload'> & {
  id: string
  createdAtMs: number
  /** Undefined where it is longer than this node reads, or cannot be read. */
  payload: Uint8Array | undefined
}

/** A receipt of both sides, a review that its reviewer signed, and the two documents that the receipt binds. */
export type OpenReviewUpload = {
  receipt: Uint8Array
  review: Uint8Array
  request: Uint8Array
  deliverable: Uint8Array
}

export interface OpenReviews {
  give(upload: OpenReviewUpload): Promise<void>
}

/** What a hub does for mail that it can read. */
export interface OpenMail {
  /** Bytes of one payload at most. */
  readonly letterBytesMax: number
  send(letter: OpenLetter, signal: AbortSignal): Promise<TakenLetter>
  /** What waits, the oldest first; answered at once. */
  poll(signal: AbortSignal): Promise<PolledLetter[]>
  /** Gives how many of them still waited. */
  ack(ids: readonly string[]): Promise<number>
}
