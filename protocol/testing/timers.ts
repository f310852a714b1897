/** Timers of a test: time stands still until the test lets it pass, and then passes at once. */
import { nextTurn, type Timer, type Timers } from '../timers.ts'

/** Turns of the event loop that what a timer has begun may take before the next one comes. */
const TURNS = 4

type Standing = Timer & { atMs: number; everyMs: number | undefined; work: () => void }

/** Timers and a clock that go together. */
export class TestTimers implements Timers {
  readonly #startMs: number
  #elapsedMs = 0
  #set: Standing[] = []

  /** `startMs`: what the clock shows at first, Unix milliseconds. */
  constructor(startMs = 0) {
    this.#startMs = startMs
  }

  /** The clock. */
  readonly now = (): number => this.#startMs + this.#elapsedMs

  /** How many timers are set. */
  get count(): number {
    return this.#set.length
  }

  monotonic(): number {
    return this.#elapsedMs
  }

  after(ms: number, work: () => void): Timer {
    return this.#add(ms, undefined, work)
  }

  every(ms: number, work: () => void): Timer {
    return this.#add(ms, Math.max(ms, 1), work)
  }

  clear(timer: Timer | undefined): void {
    this.#set = this.#set.filter(one => one !== timer)
  }

  deadline(ms: number): AbortSignal {
    const over = new AbortController()
    this.after(ms, () => over.abort(new DOMException('the time is over', 'TimeoutError')))
    return over.signal
  }

  /** Lets so long pass: timers come in their order, each once what those before it began had some turns. */
  async pass(ms: number): Promise<void> {
    const endMs = this.#elapsedMs + ms
    await settle()
    for (let next = this.#due(endMs); next !== undefined; next = this.#due(endMs)) {
      this.#elapsedMs = Math.max(this.#elapsedMs, next.atMs)
      if (next.everyMs === undefined) this.clear(next)
      else next.atMs = this.#elapsedMs + next.everyMs
      next.work()
      await settle()
    }
    this.#elapsedMs = endMs
  }

  /** Lets so long pass as over a sleep of the machine: each timer that came meanwhile comes once, at its end. */
  async skip(ms: number): Promise<void> {
    await settle()
    this.leap(ms)
    await this.pass(0)
  }

  /** Lets so long pass, and no timer come before the next {@link pass}. */
  leap(ms: number): void {
    this.#elapsedMs += ms
  }

  #add(ms: number, everyMs: number | undefined, work: () => void): Timer {
    const timer: Standing = { atMs: this.#elapsedMs + Math.max(ms, 0), everyMs, work, unref: () => timer }
    this.#set.push(timer)
    return timer
  }

  /** Of those that come by then the earliest, and of these the one that was set first. */
  #due(endMs: number): Standing | undefined {
    return this.#set
      .filter(({ atMs }) => atMs <= endMs)
      .reduce<Standing | undefined>(
        (first, one) => (first === undefined || one.atMs < first.atMs ? one : first),
        undefined,
      )
  }
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) await nextTurn()
}
