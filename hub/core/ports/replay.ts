/** Times of signed requests that were accepted, so that none works twice. Attacker: who holds an old request. */

/**
 * `mark`: as much of the signature as nobody meets by chance · `windowMs`: no time further from `nowMs` is taken, edges
 * included · `floorMs`: the floor that the head of the request met, where its body came long after it.
 */
export type SignedTime = {
  aid: string
  tsMs: number
  mark: Uint8Array
  nowMs: number
  windowMs: number
  floorMs?: number | undefined
}

export type TimeTaken =
  /** `version`: the one that the signer's row had at that moment, where another process may have written it. */
  | { outcome: 'taken'; version?: number }
  /** This very request was taken before. */
  | { outcome: 'repeated' }
  /** Only a time above `floorMs` is taken now. */
  | { outcome: 'stale'; floorMs: number }
  | { outcome: 'ahead' }

export interface Replay {
  /** The time of a signer above which others are taken now, Unix ms. */
  floor(aid: string): Promise<number>
  /**
   * Takes a time of a signer if it lies above all that were taken of this signer, by any process and before any restart,
   * and remembers it, as one step. With a `floorMs` a time above that one is taken once, also where later ones were taken
   * since. Of a time that is refused nothing is remembered. A form that may forget, as at a crash, starts with a floor
   * above all that it may have taken, unless that was stored as a floor of the account.
   */
  take(request: SignedTime): Promise<TimeTaken>
}
