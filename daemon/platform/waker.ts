/** A sleep that can be cut short; a wake that comes while nobody sleeps is kept for the next sleep. */
export class Waker {
  #pending = false
  #settle: (() => void) | undefined

  wake(): void {
    this.#pending = true
    this.#settle?.()
  }

  /** Sleeps `ms`, or until {@link wake}. */
  sleep(ms: number): Promise<void> {
    return new Promise(resolve => {
      const settle = () => {
        clearTimeout(timer)
        this.#settle = undefined
        this.#pending = false
        resolve()
      }
      const timer = setTimeout(settle, ms)
      this.#settle = settle
      if (this.#pending) settle()
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
