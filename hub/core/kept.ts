/** Figures that anybody may ask for and that take long to find: read once for all who wait, and again after their time. */

export class Kept<T> {
  readonly #now: () => number
  readonly #lifeMs: number
  readonly #read: () => Promise<T>
  #held: { value: T; readMs: number } | undefined
  #reading: { sinceMs: number; value: Promise<T> } | undefined

  constructor(read: () => Promise<T>, { lifeMs, now }: { lifeMs: number; now: () => number }) {
    this.#read = read
    this.#lifeMs = lifeMs
    this.#now = now
  }

  /** What was read at most `lifeMs` ago; nobody joins a read that takes longer than that. */
  async get(): Promise<T> {
    const nowMs = this.#now()
    const isLately = (thenMs: number) => nowMs >= thenMs && nowMs - thenMs <= this.#lifeMs
    if (this.#held !== undefined && isLately(this.#held.readMs)) return this.#held.value
    if (this.#reading === undefined || !isLately(this.#reading.sinceMs))
      this.#reading = { sinceMs: nowMs, value: this.#readAgain(nowMs) }
    const reading = this.#reading
    try {
      return await reading.value
    } finally {
      if (this.#reading === reading) this.#reading = undefined
    }
  }

  async #readAgain(readMs: number): Promise<T> {
    const value = await this.#read()
    this.#held = { value, readMs }
    return value
  }
}
