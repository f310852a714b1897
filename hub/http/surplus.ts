/** Connections that a hub closes unheard because there are too many: counted at once, and told in the log now and then. */
import type { Timer, Timers } from '../../protocol/timers.ts'
import type { Alert } from '../core/context.ts'

/** Which limit a connection was too many for; `flood`: its address wrote requests without waiting for answers. */
export type SurplusOf = 'hub' | 'address' | 'flood'

/** Whoever opens connections by the thousand writes no more lines than this. */
const TOLD_EVERY_MS = 60_000
/** What came together is told together. */
const FIRST_TOLD_MS = 1000

export class Surplus {
  readonly #warn: Alert
  readonly #count: (of: SurplusOf) => void
  #untold: Partial<Record<SurplusOf, number>> = {}
  readonly #timers: Timers
  #timer: Timer | undefined
  #toldMs = Number.NEGATIVE_INFINITY

  constructor(timers: Timers, warn: Alert, count: (of: SurplusOf) => void) {
    this.#timers = timers
    this.#warn = warn
    this.#count = count
  }

  note(of: SurplusOf): void {
    this.#count(of)
    this.#untold[of] = (this.#untold[of] ?? 0) + 1
    const wait = Math.max(FIRST_TOLD_MS, this.#toldMs + TOLD_EVERY_MS - this.#timers.monotonic())
    this.#timer ??= this.#timers.after(wait, () => this.tell()).unref()
  }

  /** Tells what was not told yet. */
  tell(): void {
    this.#timers.clear(this.#timer)
    this.#timer = undefined
    if (Object.keys(this.#untold).length === 0) return
    this.#warn('connections were closed, there were too many', this.#untold)
    this.#untold = {}
    this.#toldMs = this.#timers.monotonic()
  }
}
