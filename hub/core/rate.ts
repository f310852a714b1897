/** Rate buckets in memory: one number a key, bounded in number. */
import { makeRoom } from './bounded.ts'
import type { Rate } from './limits.ts'

const KEYS_MAX = 100_000
const COUNTS_MAX = 1_000_000
const NO_WINDOW = -1

export class RateBuckets {
  readonly #rate: Rate
  readonly #keysMax: number
  /** Time at which a key's bucket is full again; the key that was used last stands last. */
  readonly #fullAt = new Map<string, number>()

  constructor(rate: Rate, keysMax = KEYS_MAX) {
    this.#rate = rate
    this.#keysMax = keysMax
  }

  get size(): number {
    return this.#fullAt.size
  }

  /** Takes one or more from the bucket of `key`: 0, or how many milliseconds it takes until there are so many. */
  take(key: string, nowMs: number, count = 1): number {
    const perItemMs = 1000 / this.#rate.perSecond
    const fullAt = Math.max(this.#fullAt.get(key) ?? 0, nowMs)
    const waitMs = fullAt + count * perItemMs - nowMs - this.#rate.burst * perItemMs
    if (waitMs > 0) return Math.ceil(waitMs)
    this.#fullAt.delete(key)
    makeRoom(this.#fullAt, this.#keysMax)
    this.#fullAt.set(key, fullAt + count * perItemMs)
    return 0
  }
}

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
