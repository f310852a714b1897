/**
 * The hub's clock, watched: one that was set back makes signed requests look new again and mail expire late, so the hub
 * says so at once and is not ready until the clock has caught up.
 */
import type { Timer, Timers } from '../../protocol/timers.ts'
import type { Alert } from './context.ts'

/** Smaller steps are those of an ordinary correction. */
const SET_BACK_MS = 2000
const LOOK_EVERY_MS = 1000
const MEND_SET_BACK =
  'set the clock: timedatectl set-ntp true; if it is right now and ran ahead before, wait until it has caught up, or see "The clock is wrong" in docs/host/problems.md'

export class ClockWatch {
  readonly #now: () => number
  readonly #alert: Alert
  readonly #timers: Timers
  readonly #timer: Timer
  #latestMs: number
  #told = false

  /** `knownMs` is the latest time that the hub stored before it started, in Unix ms. */
  constructor({ now, timers }: { now: () => number; timers: Timers }, knownMs: number, alert: Alert) {
    this.#now = now
    this.#timers = timers
    this.#latestMs = knownMs
    this.#alert = alert
    this.#timer = timers.every(LOOK_EVERY_MS, () => this.look())
    this.#timer.unref()
    this.look()
  }

  /** How far the clock lies behind the latest time it showed; 0 while it does not. */
  get behindMs(): number {
    const behind = this.#latestMs - this.#now()
    return behind > SET_BACK_MS ? behind : 0
  }

  look(): void {
    const { behindMs } = this
    if (behindMs > 0 && !this.#told)
      this.#alert('the clock was set back', { behind_ms: behindMs, mend: MEND_SET_BACK })
    if (behindMs === 0 && this.#told) this.#alert('the clock has caught up', {})
    this.#told = behindMs > 0
    this.#latestMs = Math.max(this.#latestMs, this.#now())
  }

  close(): void {
    this.#timers.clear(this.#timer)
  }
}
