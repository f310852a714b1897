/** Sending sessions. No store, log or dump tells whose a session is, or that there was one. */

/** `sid` has 16 bytes, `macKey` 32; the session is over at `expMs`. */
export type Session = { sid: Uint8Array; aid: string; macKey: Uint8Array; expMs: number }

/** `max` sessions of an agent live at once: one more ends its oldest. */
export type SessionTerms = { aid: string; nowMs: number; expMs: number; max: number }

export interface OpenSessions {
  /**
   * Opens a session once `seal` has put it into its answer. Where `seal` throws, none was opened and none is ended; it may
   * be called again for another session.
   */
  open<T>(terms: SessionTerms, seal: (session: Session) => T): Promise<T>
  /** The session of a sid, while it lives. */
  find(sid: Uint8Array, nowMs: number): Promise<Session | undefined>
  /** Ends every session of an agent: none that was opened before is found in any process. */
  endAll(aid: string): Promise<void>
}
