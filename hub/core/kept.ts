/** Figures that anybody may ask for and that take long to find: read once for all who wait, and again after their time. */

export class Kept<T> {
  readonly #now: () => number
  readonly #lifeMs: number
  readonly #read: () => Promise<T>
  #held: { value: T; readMs: number } | undefined
  #reading: Promise<T> | undefined

  constructor(read: () => Promise<T>, { lifeMs, now }: { lifeMs: number; now: () => number }) {
    this.#read = read
    this.#lifeMs = lifeMs
    this.#now = now
  }

  /** What was read at most `lifeMs` ago. */
  async get(): Promise<T> {
    const held = this.#held
    const ageMs = held === undefined ? Number.NaN : this.#now() - held.readMs
    if (held !== undefined && ageMs >= 0 && ageMs <= this.#lifeMs) return held.value
    this.#reading ??= this.#readAgain()
    return await this.#reading
  }

  async #readAgain(): Promise<T> {
    try {
      const readMs = this.#now()
      const value = await this.#read()
      this.#held = { value, readMs }
      return value
    } finally {
      this.#reading = undefined
    }
  }
}
