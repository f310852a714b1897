/** Counts of a minute or of a UTC day, in the memory of one process. */
import { makeRoom } from '../bounded.ts'

const COUNTS_MAX = 1_000_000
const NO_WINDOW = -1

/**
 * How often a key was counted in the present window (a minute, a UTC day); bounded like the buckets. In a window that
 * began before a start nobody knows who used how much: there every key counts as half used.
 */
export class WindowCounts {
  readonly #windowMs: number
  readonly #keysMax: number
  /** The window in which the process before this one was last seen. */
  readonly #windowBefore: number
  #window = NO_WINDOW
  #counts = new Map<string, number>()

  /** `lastMs` is the newest time at which the process before this one counted; 0 where there was none. */
  constructor(windowMs: number, lastMs: number, keysMax = COUNTS_MAX) {
    this.#windowMs = windowMs
    this.#windowBefore = lastMs === 0 ? NO_WINDOW : Math.floor(lastMs / windowMs)
    this.#keysMax = keysMax
  }

  /** How many of `max` a key has used. */
  used(key: string, max: number, nowMs: number): number {
    this.#turn(nowMs)
    const before = this.#window === this.#windowBefore ? Math.floor(max / 2) : 0
    return before + (this.#counts.get(key) ?? 0)
  }

  add(key: string, nowMs: number): void {
    this.#turn(nowMs)
    const count = this.#counts.get(key) ?? 0
    if (count === 0) makeRoom(this.#counts, this.#keysMax)
    this.#counts.set(key, count + 1)
  }

  /** Milliseconds until the next window begins. */
  remainingMs(nowMs: number): number {
    return this.#windowMs - (nowMs % this.#windowMs)
  }

  #turn(nowMs: number): void {
    const window = Math.floor(nowMs / this.#windowMs)
    if (window === this.#window) return
    this.#window = window
    this.#counts = new Map()
  }
}
