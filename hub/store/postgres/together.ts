/** Rows that are asked for by their key: those that are asked for together come by one question. */
import { soon } from '../../../protocol/timers.ts'

/** Of one question. */
const KEYS_MAX = 256
/** Questions under way at once; what comes meanwhile goes with the next. */
const QUESTIONS_MAX = 2

type Found<T> = ReadonlyMap<string, T>
type Asked<T> = ReturnType<typeof Promise.withResolvers<T | undefined>>

export class Together<T> {
  readonly #read: (keys: readonly string[]) => Promise<Found<T>>
  #waiting = new Map<string, Asked<T>>()
  #under = 0
  #isBeginning = false

  /** `read` gives the rows that there are, by their keys. */
  constructor(read: (keys: readonly string[]) => Promise<Found<T>>) {
    this.#read = read
  }

  /** The row as it is after this call, never as an earlier question found it. */
  find(key: string): Promise<T | undefined> {
    const held = this.#waiting.get(key) ?? Promise.withResolvers<T | undefined>()
    this.#waiting.set(key, held)
    if (!this.#isBeginning) {
      this.#isBeginning = true
      soon(() => this.#begin())
    }
    return held.promise
  }

  #begin(): void {
    this.#isBeginning = false
    while (this.#under < QUESTIONS_MAX && this.#waiting.size > 0) {
      const asked = [...this.#waiting].slice(0, KEYS_MAX)
      for (const [key] of asked) this.#waiting.delete(key)
      this.#under += 1
      void this.#answer(asked).finally(() => {
        this.#under -= 1
        this.#begin()
      })
    }
  }

  async #answer(asked: readonly (readonly [key: string, of: Asked<T>])[]): Promise<void> {
    try {
      const found = await this.#read(asked.map(([key]) => key))
      for (const [key, { resolve }] of asked) resolve(found.get(key))
    } catch (error) {
      for (const [, { reject }] of asked) reject(error)
    }
  }
}
