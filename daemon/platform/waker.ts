/** A sleep that can be cut short; a wake that comes while nobody sleeps is kept for the next sleep. */

const always = () => true

export class Waker {
  /** Wakes that are kept, each with whether there is still something to wake for. */
  #pending: (() => boolean)[] = []
  #settle: (() => void) | undefined

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
        clearTimeout(timer)
        this.#settle = undefined
        this.#pending = []
        resolve()
      }
      const timer = setTimeout(settle, ms)
      this.#settle = settle
      if (this.#pending.some(isNeeded => isNeeded())) settle()
    })
  }
}

/** One for each part of the node that works by itself: who has something for it wakes it. */
export type Wakers = Readonly<
  Record<'outbox' | 'relay' | 'reviews' | 'rounds' | 'calls' | 'payments' | 'spending' | 'audits', Waker>
>

export const makeWakers = (): Wakers => ({
  outbox: new Waker(),
  relay: new Waker(),
  reviews: new Waker(),
  rounds: new Waker(),
  calls: new Waker(),
  payments: new Waker(),
  spending: new Waker(),
  audits: new Waker(),
})
