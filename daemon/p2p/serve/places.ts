/** So many at once, so many more who wait for a moment, and nobody else. */
import type { Timers } from '../../../protocol/timers.ts'

type Bounds = { atOnce: number; waiting: number; waitMs: number }

export class Places {
  readonly #bounds: Bounds
  readonly #timers: Timers
  #taken = 0
  readonly #waiting = new Set<() => void>()

  constructor(bounds: Bounds, timers: Timers) {
    this.#bounds = bounds
    this.#timers = timers
  }

  /** A place, which is given back when disposed; undefined where none came free in time. */
  async take(): Promise<Disposable | undefined> {
    const { atOnce, waiting } = this.#bounds
    if (this.#taken < atOnce) this.#taken += 1
    else if (this.#waiting.size >= waiting || !(await this.#handed())) return undefined
    let isHeld = true
    return {
      [Symbol.dispose]: () => {
        if (isHeld) this.#giveBack()
        isHeld = false
      },
    }
  }

  /** Whether somebody handed a place over before the time was up. */
  #handed(): Promise<boolean> {
    return new Promise(resolve => {
      const hand = () => {
        this.#timers.clear(timer)
        this.#waiting.delete(hand)
        resolve(true)
      }
      const timer = this.#timers.after(this.#bounds.waitMs, () => {
        this.#waiting.delete(hand)
        resolve(false)
      })
      this.#waiting.add(hand)
    })
  }

  #giveBack(): void {
    const [next] = this.#waiting
    if (next === undefined) this.#taken -= 1
    else next()
  }
}
