/** Rate buckets in memory: one number a key, forgotten when full again, bounded in number. */
import type { Rate } from './limits.ts'

const KEYS_MAX = 100_000

export class RateBuckets {
  readonly #rate: Rate
  /** Time at which a key's bucket is full again. */
  readonly #fullAt = new Map<string, number>()

  constructor(rate: Rate) {
    this.#rate = rate
  }

  /** Takes one from the bucket of `key`: 0, or how many milliseconds it takes until there is one. */
  take(key: string, nowMs: number): number {
    const perItemMs = 1000 / this.#rate.perSecond
    const fullAt = Math.max(this.#fullAt.get(key) ?? 0, nowMs)
    const waitMs = fullAt + perItemMs - nowMs - this.#rate.burst * perItemMs
    if (waitMs > 0) return Math.ceil(waitMs)
    if (this.#fullAt.size >= KEYS_MAX && !this.#fullAt.has(key)) this.#forget(nowMs)
    this.#fullAt.set(key, fullAt + perItemMs)
    return 0
  }

  /** Full buckets carry nothing; when all are in use the oldest goes. */
  #forget(nowMs: number): void {
    for (const [key, fullAt] of this.#fullAt) if (fullAt <= nowMs) this.#fullAt.delete(key)
    const oldest = this.#fullAt.keys().next()
    if (this.#fullAt.size >= KEYS_MAX && oldest.done !== true) this.#fullAt.delete(oldest.value)
  }
}

/** How often a key was counted in the present window (a minute, a UTC day); bounded like the buckets. */
export class WindowCounts {
  readonly #windowMs: number
  #window = -1
  #counts = new Map<string, number>()

  constructor(windowMs: number) {
    this.#windowMs = windowMs
  }

  count(key: string, nowMs: number): number {
    this.#turn(nowMs)
    return this.#counts.get(key) ?? 0
  }

  add(key: string, nowMs: number): void {
    this.#turn(nowMs)
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1)
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
