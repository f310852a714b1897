/** Word between the processes of a hub that something has happened to a mailbox. It is a hint: the truth is in the store. */

/**
 * `mail`: mail was committed · `newer`: another poll of this mailbox came · `older`: that one ended a poll that was held ·
 * `ended`: whatever is held open for its agent ends, as after a change of its keys.
 */
export type WakeUp = 'mail' | 'newer' | 'older' | 'ended'

export interface WakeUps {
  /**
   * Tells all processes. Who listens in this process has heard it when this returns, once; the others hear it later, once,
   * or never where word was lost.
   */
  tell(mailbox: number, what: WakeUp): void
  /** Hears all that is told from here on; returns how to stop. */
  listen(hear: (mailbox: number, what: WakeUp) => void): () => void
  /** Word may be lost: who waits for mail looks by itself so often. Undefined where none is lost. */
  readonly lookEveryMs: number | undefined
}
