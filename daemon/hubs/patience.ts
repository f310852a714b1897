/** Patience with an answer that comes in parts: it may take its time, and not rest. */
import type { Timer, Timers } from '../../protocol/timers.ts'

/** How long an answer may rest once it has begun. */
export const REST_MS = 20_000

/** Ends a call that rests for too long; one that goes on may take its time. */
export class Patience implements Disposable {
  readonly #ended = new AbortController()
  readonly #timers: Timers
  #timer: Timer

  constructor(timers: Timers, ms: number) {
    this.#timers = timers
    this.#timer = this.#begin(ms)
  }

  get signal(): AbortSignal {
    return this.#ended.signal
  }

  renew(ms: number): void {
    this.#timers.clear(this.#timer)
    this.#timer = this.#begin(ms)
  }

  [Symbol.dispose](): void {
    this.#timers.clear(this.#timer)
  }

  #begin(ms: number): Timer {
    const late = () => this.#ended.abort(new DOMException('no answer in time', 'TimeoutError'))
    return this.#timers.after(ms, late).unref()
  }
}

/** The parts of an answer, each of which is waited for anew. */
export async function* patiently(
  body: AsyncIterable<Uint8Array>,
  patience: Patience,
): AsyncGenerator<Uint8Array> {
  for await (const part of body) {
    patience.renew(REST_MS)
    yield part
  }
}
