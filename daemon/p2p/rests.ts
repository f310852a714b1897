/** Addresses that did not take what was sent there, and are left in peace for a while. */
import type { Timers } from '../../protocol/timers.ts'

const REST_MS = 60_000
const KEPT_MAX = 1000

export class Rests {
  readonly #timers: Timers
  readonly #until = new Map<string, number>()

  constructor(timers: Timers) {
    this.#timers = timers
  }

  /** Another address of the same agent does not rest. */
  begin(aid: string, address: string): void {
    const [oldest] = this.#until.keys()
    if (this.#until.size >= KEPT_MAX && oldest !== undefined) this.#until.delete(oldest)
    this.#until.set(`${aid} ${address}`, this.#timers.monotonic() + REST_MS)
  }

  includes(aid: string, address: string): boolean {
    return this.#timers.monotonic() < (this.#until.get(`${aid} ${address}`) ?? 0)
  }
}
