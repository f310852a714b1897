/** Bytes that come no faster than the hub can bear, whoever sends them. */
import { sleep, type Timers } from '../../protocol/timers.ts'

/** Who comes after a rest may take so much at once. */
const BURST_MS = 50

export class Pace {
  readonly #timers: Timers
  readonly #bytesPerMs: number
  #freeMs = Number.NEGATIVE_INFINITY

  constructor(timers: Timers, bytesPerMs: number) {
    this.#timers = timers
    this.#bytesPerMs = bytesPerMs
  }

  /** Waits for the turn of so many bytes, behind those that asked before. */
  async take(bytes: number): Promise<void> {
    const nowMs = this.#timers.monotonic()
    this.#freeMs = Math.max(this.#freeMs, nowMs - BURST_MS) + bytes / this.#bytesPerMs
    const waitMs = this.#freeMs - nowMs
    if (waitMs >= 1) await sleep(this.#timers, waitMs)
  }
}
