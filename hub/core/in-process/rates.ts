/** Rate buckets in the memory of one process: one number a key, bounded in number. */
import { makeRoom } from '../bounded.ts'
import type { Rate, Rates } from '../ports/rates.ts'

const KEYS_MAX = 100_000

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
    const emptyMs = this.#rate.burst * perItemMs
    const known = this.#fullAt.get(key) ?? 0
    // what fills later than an empty one does was used under a clock that has been set back since
    const fullAt = Math.min(Math.max(known, nowMs), nowMs + emptyMs)
    if (known > fullAt) this.#fullAt.set(key, fullAt)
    const waitMs = fullAt + count * perItemMs - nowMs - emptyMs
    if (waitMs > 0) return Math.ceil(waitMs)
    this.#fullAt.delete(key)
    makeRoom(this.#fullAt, this.#keysMax)
    this.#fullAt.set(key, fullAt + count * perItemMs)
    return 0
  }
}

export function ratesInProcess(): Rates {
  const named = new Map<string, RateBuckets>()
  return {
    of(name, rate) {
      const key = `${name} ${rate.perSecond} ${rate.burst}`
      const buckets = named.get(key) ?? new RateBuckets(rate)
      named.set(key, buckets)
      return { take: async (key, nowMs, count) => buckets.take(key, nowMs, count) }
    },
  }
}
