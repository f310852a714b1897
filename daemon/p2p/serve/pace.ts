/** So many in each second, whoever they come from. */
import type { Timers } from '../../../protocol/timers.ts'

export class Pace {
  readonly #perSecond: number
  readonly #timers: Timers
  #since = Number.NEGATIVE_INFINITY
  #taken = 0

  constructor(perSecond: number, timers: Timers) {
    this.#perSecond = perSecond
    this.#timers = timers
  }

  /** Whether there is room for one more. */
  take(): boolean {
    const now = this.#timers.monotonic()
    if (now - this.#since >= 1_000) {
      this.#since = now
      this.#taken = 0
    }
    this.#taken += 1
    return this.#taken <= this.#perSecond
  }
}
