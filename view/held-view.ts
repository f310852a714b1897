/** The view as it is now, and who wants to hear of changes: at once for what a person did, ten times a second for the rest. */
import { frameDelay } from './coalesce.ts'
import { type Action, reduce } from './reduce.ts'
import { firstView, type View } from './state.ts'

export type Surroundings = {
  /** Unix milliseconds. */
  now: () => number
  /** From 0 to 1. */
  random: () => number
  /** Calls after so many milliseconds; gives what calls it off. */
  after: (ms: number, then: () => void) => () => void
}

export class HeldView {
  #view: View = firstView
  readonly #around: Surroundings
  readonly #listeners = new Set<() => void>()
  #toldAt: number | undefined
  #callOff: (() => void) | undefined

  constructor(around: Surroundings) {
    this.#around = around
  }

  get view(): View {
    return this.#view
  }

  /** Calls after changes; gives what ends it. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  apply(action: Action, when: 'at once' | 'soon'): void {
    const next = reduce(this.#view, action)
    if (next === this.#view) return
    this.#view = next
    if (when === 'at once') this.#tell()
    else if (this.#callOff === undefined)
      this.#callOff = this.#around.after(this.untilFrame(), () => this.#tell())
  }

  /** Milliseconds until changes from outside may be shown again. */
  untilFrame(): number {
    return frameDelay(this.#toldAt, this.#around.now())
  }

  stop(): void {
    this.#callOff?.()
    this.#listeners.clear()
  }

  #tell(): void {
    this.#callOff?.()
    this.#callOff = undefined
    this.#toldAt = this.#around.now()
    for (const listener of this.#listeners) listener()
  }
}
