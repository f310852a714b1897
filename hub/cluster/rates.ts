/** Rates of a hub, of which each of its processes gives an equal part. */
import { makeRoom } from '../core/bounded.ts'
import type { Buckets, Rate, Rates } from '../core/ports/rates.ts'

const KEYS_MAX = 100_000

/**
 * The part of one process. Who asks for more than the part holds, and for no more than the whole, gets it where the part
 * is full, and waits the longer afterwards.
 */
class PartOfRate implements Buckets {
  readonly #rate: Rate
  readonly #live: () => number
  /** How much of each key's part is used, and when that was so. */
  readonly #used = new Map<string, { count: number; atMs: number }>()

  constructor(rate: Rate, live: () => number) {
    this.#rate = rate
    this.#live = live
  }

  async take(key: string, nowMs: number, count = 1): Promise<number> {
    const perMs = this.#rate.perSecond / 1000 / this.#live()
    const burst = Math.max(1, this.#rate.burst / this.#live())
    const known = this.#used.get(key)
    // a clock that was set back gives nothing, and takes nothing
    const passedMs = known === undefined ? 0 : Math.max(0, nowMs - known.atMs)
    const used = Math.max(0, (known?.count ?? 0) - passedMs * perMs)
    const fits = count > this.#rate.burst ? count : Math.min(count, burst)
    const missing = used + fits - burst
    this.#used.delete(key)
    makeRoom(this.#used, KEYS_MAX)
    this.#used.set(key, { count: missing > 0 ? used : used + count, atMs: nowMs })
    return missing > 0 ? Math.ceil(missing / perMs) : 0
  }
}

/** `live` is how many processes there are now. */
export function ratesOver(live: () => number): Rates {
  const named = new Map<string, PartOfRate>()
  return {
    of(name, rate) {
      const key = `${name} ${rate.perSecond} ${rate.burst}`
      const buckets = named.get(key) ?? new PartOfRate(rate, live)
      named.set(key, buckets)
      return buckets
    },
  }
}
