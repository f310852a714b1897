/** The time under which a node dates what it signs: its own, but never later than the hub's where that is known. */

/** How finely a hub tells its time. */
const RESOLUTION_MS = 2000

/** A time of ours, or the one that is known where ours is later. */
export function notAhead(own: number, known: number | undefined): number {
  return known !== undefined && own - known > RESOLUTION_MS ? known : own
}

/** Somebody who says what time it is. */
export type TimeSource = { readonly knownTimeMs: number | undefined }

/** The time of this machine, and as its hub sees it. */
export type Clocks = { readonly now: () => number; readonly hubNow: () => number }

export class Clock {
  readonly #own: () => number
  #source: TimeSource | undefined

  constructor(own: () => number) {
    this.#own = own
  }

  /** From now on, or until another one is named, this source is not run ahead of. */
  follow(source: TimeSource | undefined): void {
    this.#source = source
  }

  readonly now = (): number => notAhead(this.#own(), this.#source?.knownTimeMs)
}
