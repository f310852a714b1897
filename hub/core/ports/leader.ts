/** Work that a hub does once however many processes it has: sweeps, what a day asks of its books, reading of peers. */

export type Duty =
  | 'sweep'
  | 'books'
  | 'peer reviews'
  | 'peer cards'
  | 'open peer reviews'
  | 'open peer cards'
  | 'peer payments'
  | 'clearing'

/** `isOver`: this process leads no more; work that has further steps takes none of them. */
export type Turn = { readonly isOver: boolean }

export interface Leader {
  /**
   * Does work of a duty where this process leads in it, and gives undefined where another does. No two works of a duty run
   * at a time; where nobody leads, a process that asks comes to lead. What a leader writes must be safe to write when it
   * has lost its place meanwhile: the store judges each write, as the epoch that names the record before it.
   */
  lead<T>(duty: Duty, work: (turn: Turn) => Promise<T>): Promise<T | undefined>
  /** Leads no more: resolves when the work under way has ended. Another process comes to lead. */
  stop(): Promise<void>
}
