/** Polls that wait for mail: one a mailbox, woken by committed mail, ended by a newer poll or a change of the signer. */

export type PollEnd = 'mail' | 'timeout' | 'ended' | 'gone'

export class HeldPolls {
  readonly #max: number
  readonly #held = new Map<number, (end: PollEnd) => void>()
  #over = false

  constructor(max: number) {
    this.#max = max
  }

  /** Whether one more poll may be held. */
  get free(): boolean {
    return !this.#over && this.#held.size < this.#max
  }

  /** Whether a poll of this mailbox may be held; at the cap it still takes the place of its own older one. */
  mayHold(mailbox: number): boolean {
    return this.free || (!this.#over && this.#held.has(mailbox))
  }

  get size(): number {
    return this.#held.size
  }

  holds(mailbox: number): boolean {
    return this.#held.has(mailbox)
  }

  /** Ends the poll held for this mailbox, if any. */
  end(mailbox: number, how: PollEnd = 'ended'): void {
    this.#held.get(mailbox)?.(how)
  }

  /** Mail for this mailbox is in the store. */
  wake(mailbox: number): void {
    this.end(mailbox, 'mail')
  }

  /** The hub ends: from here on none is held. */
  endAll(): void {
    this.#over = true
    for (const end of [...this.#held.values()]) end('ended')
  }

  /** Waits until mail comes, the time is over, a newer poll takes its place, or the caller has gone. */
  wait(mailbox: number, waitMs: number, onGone: (callback: () => void) => () => void): Promise<PollEnd> {
    this.end(mailbox)
    return new Promise(resolve => {
      let stopListening = (): void => undefined
      const finish = (end: PollEnd): void => {
        clearTimeout(timer)
        stopListening()
        if (this.#held.get(mailbox) === finish) this.#held.delete(mailbox)
        resolve(end)
      }
      const timer = setTimeout(() => finish('timeout'), waitMs)
      this.#held.set(mailbox, finish)
      stopListening = onGone(() => finish('gone'))
    })
  }
}
