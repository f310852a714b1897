/** A sleep that can be cut short; a wake that comes while nobody sleeps is kept for the next sleep. */
import { sleep, type Timers } from '../../protocol/timers.ts'

const always = () => true

export class Waker {
  readonly #timers: Timers
  /** Wakes that are kept, each with whether there is still something to wake for. */
  #pending: (() => boolean)[] = []
  #settle: (() => void) | undefined

  constructor(timers: Timers) {
    this.#timers = timers
  }

  /** `isNeeded` is asked when somebody sleeps: what was done meanwhile wakes nobody. */
  wake(isNeeded: () => boolean = always): void {
    this.#pending = [...this.#pending.filter(one => one !== isNeeded), isNeeded]
    if (isNeeded()) this.#settle?.()
  }

  /** Whoever begins to look at everything needs none of the wakes from before. */
  forget(): void {
    this.#pending = []
  }

  /** Sleeps `ms`, or until {@link wake}. */
  sleep(ms: number): Promise<void> {
    return new Promise(resolve => {
      const settle = () => {
        this.#timers.clear(timer)
        this.#settle = undefined
        this.#pending = []
        resolve()
      }
      const timer = this.#timers.after(ms, settle)
      this.#settle = settle
      if (this.#pending.some(isNeeded => isNeeded())) settle()
    })
  }

  /** Sleeps `ms`, whatever wakes it; less only where the signal aborts. */
  async rest(ms: number, signal: AbortSignal): Promise<void> {
    await sleep(this.#timers, ms, signal).catch(() => undefined)
  }
}

/** One for each part of the node that works by itself: who has something for it wakes it. */
export type Wakers = Readonly<
  Record<'outbox' | 'relay' | 'reviews' | 'rounds' | 'calls' | 'payments' | 'spending' | 'audits', Waker>
>

export const makeWakers = (timers: Timers): Wakers => ({
  outbox: new Waker(timers),
  relay: new Waker(timers),
  reviews: new Waker(timers),
  rounds: new Waker(timers),
  calls: new Waker(timers),
  payments: new Waker(timers),
  spending: new Waker(timers),
  audits: new Waker(timers),
})
