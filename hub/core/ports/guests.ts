/** Visitors without keys, for whom the hub writes. */

export type GuestEnd = '' | 'requested' | 'accepted'
/** What a visitor reads; `system` where nobody wrote it. */
export type GuestWord = { body: string; system: boolean; end: GuestEnd }

/** One as it stands now: nothing of it changes, another one takes its place. */
export type GuestSession = {
  /** The secret of the visitor. */
  readonly id: string
  readonly handler: string
  /** Id of the task at the handler, in base64url. */
  readonly task: string
  /** From where it was opened, where that is known. */
  readonly owner: string | undefined
  /** Goes up by one whenever another takes its place; 0 at first. */
  readonly version: number
  /** Messages that the visitor may still send. */
  readonly remaining: number
  /** Number of the last message to the handler. */
  readonly sent: number
  /** What the visitor called the last message that was sent, and since when that is under way; undefined once it has left. */
  readonly lastName: string | undefined
  readonly sendingSinceMs: number | undefined
  /** All messages of the handler up to this number came, and these beyond it. */
  readonly heardUpTo: number
  readonly heardBeyond: readonly number[]
  /** What the visitor has not fetched for certain, its bytes, and how many words came before it. */
  readonly waiting: readonly GuestWord[]
  readonly waitingBytes: number
  readonly fetched: number
  /** Number of the message with which the handler asked for the end. */
  readonly endNumber: number | undefined
  readonly state: 'open' | 'endRequested' | 'ended'
  readonly seenMs: number
}

/** `max` sessions are open at once, `ownerMax` of them from one place. */
export type GuestRoom = { max: number; ownerMax: number }

export interface GuestSessions {
  /** False where as many are open; none is ended for another. */
  add(session: GuestSession, room: GuestRoom): Promise<boolean>
  find(id: string): Promise<GuestSession | undefined>
  findTask(task: string): Promise<GuestSession | undefined>
  /**
   * Puts one in the place of the version of which it was made. `changed`: that is no longer the one that stands.
   * `full`: the words that wait in all sessions would take more than `bytesMax`, and more than before.
   */
  replace(session: GuestSession, bytesMax: number): Promise<'replaced' | 'changed' | 'full'>
  /** All that are open, bounded by what `add` takes. */
  all(): Promise<readonly GuestSession[]>
  /** Ends sessions that nobody has used since, and gives them. */
  endIdle(beforeMs: number): Promise<readonly GuestSession[]>
  /** This process ends: ends the sessions that no other one can go on with, and gives them. */
  endOwn(): Promise<readonly GuestSession[]>
}
