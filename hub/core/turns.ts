/** Long readings, a page at a time: one page at once, and as long a rest behind it, so that the rest of the hub goes on. */
import { sleep, type Timers } from '../../protocol/timers.ts'

export class Turns {
  readonly #timers: Timers
  #last: Promise<unknown> = Promise.resolve()

  constructor(timers: Timers) {
    this.#timers = timers
  }

  /** The rows of these pages; each page is read when those are that were asked for before. */
  async *rows<T>(pages: AsyncIterable<readonly T[]>): AsyncGenerator<T> {
    const reading = pages[Symbol.asyncIterator]()
    for (;;) {
      const page = await this.#take(() => reading.next())
      if (page.done === true) return
      yield* page.value
    }
  }

  #take<T>(read: () => Promise<T>): Promise<T> {
    let tookMs = 0
    const turn = this.#last.then(async () => {
      const sinceMs = this.#timers.monotonic()
      try {
        return await read()
      } finally {
        tookMs = this.#timers.monotonic() - sinceMs
      }
    })
    const rest = () => sleep(this.#timers, tookMs)
    this.#last = turn.then(rest, rest)
    return turn
  }
}
