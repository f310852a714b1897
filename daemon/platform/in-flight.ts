/** Work on other threads, kept going while the caller makes more of it: bounded, and its first failure is the caller's. */

export class InFlight {
  #max: number
  #open = 0
  #failure: { error: unknown } | undefined
  #wake: () => void = () => {}

  constructor(max: number) {
    this.#max = max
  }

  /** Takes a piece of work on; resolves when there is room for the next one. */
  async add(work: Promise<void>): Promise<void> {
    this.#open += 1
    work
      .catch((error: unknown) => {
        this.#failure ??= { error }
      })
      .finally(() => {
        this.#open -= 1
        // Half of it is left to do while the caller comes back.
        if (this.#open <= this.#max / 2) this.#wake()
      })
    if (this.#open >= this.#max) await this.#woken()
    this.#throwFailure()
  }

  /** Waits for everything. */
  async end(): Promise<void> {
    while (this.#open > 0) await this.#woken()
    this.#throwFailure()
  }

  #woken(): Promise<void> {
    return new Promise(resolve => {
      this.#wake = resolve
    })
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error
  }
}
