/** Visitors without keys, for whom the hub writes. A restart ends their sessions. */

export type GuestEnd = '' | 'requested' | 'accepted'
/** What a visitor reads; `system` where nobody wrote it. */
export type GuestWord = { body: string; system: boolean; end: GuestEnd }

export type GuestSession = {
  /** The secret of the visitor. */
  readonly id: string
  readonly handler: string
  /** Id of the task at the handler, in base64url. */
  readonly task: string
  /** Messages that it may still send. */
  remaining: number
  /** Number of the last message to the handler. */
  sent: number
  /** Numbers of the handler's messages that came. */
  readonly heard: Set<number>
  /** What the visitor has not fetched, and its bytes. */
  waiting: GuestWord[]
  waitingBytes: number
  /** Number of the message with which the handler asked for the end. */
  endNumber: number | undefined
  state: 'open' | 'endRequested' | 'ended'
  seenMs: number
}

export interface GuestSessions {
  /** False where `max` sessions are open; none is ended for another. */
  add(session: GuestSession, max: number): Promise<boolean>
  find(id: string): Promise<GuestSession | undefined>
  findTask(task: string): Promise<GuestSession | undefined>
  end(id: string): Promise<void>
  /** Ends sessions that nobody has used since. */
  endIdle(beforeMs: number): Promise<void>
}
