/**
 * Polls that wait for mail: one a mailbox, woken by committed mail, ended by a newer poll or a change of the signer. A poll
 * is held in the process that it came to; word of what wakes it comes from all of them.
 */
import type { Timer, Timers } from '../../protocol/timers.ts'
import type { WakeUp, WakeUps } from './ports/wake-ups.ts'

export type PollEnd = 'mail' | 'timeout' | 'newer' | 'ended' | 'gone'
/** How a wait ended, and whether it ended that of an older poll as it began: at another process that is known where word of it came in time. */
export type Waited = { end: PollEnd; endedOlder: boolean }
type Held = { finish: (end: PollEnd) => void; endedOlder: boolean }

export class HeldPolls {
  readonly #max: number
  readonly #held = new Map<number, Held>()
  readonly #wakeUps: WakeUps
  readonly #timers: Timers
  readonly #deafen: () => void
  #over = false

  constructor(max: number, wakeUps: WakeUps, timers: Timers) {
    this.#max = max
    this.#wakeUps = wakeUps
    this.#timers = timers
    this.#deafen = wakeUps.listen((mailbox, what) => this.#hear(mailbox, what))
  }

  #hear(mailbox: number, what: WakeUp): void {
    const held = this.#held.get(mailbox)
    if (held === undefined) return
    if (what === 'older') held.endedOlder = true
    else held.finish(what)
    // whichever process it came to learns that it ended one
    if (what === 'newer') this.#wakeUps.tell(mailbox, 'older')
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

  /** Ends the poll held for this mailbox, if any, in whichever process. */
  end(mailbox: number): void {
    this.#wakeUps.tell(mailbox, 'ended')
  }

  /** Mail for this mailbox is in the store. */
  wake(mailbox: number): void {
    this.#wakeUps.tell(mailbox, 'mail')
  }

  /** Ends the poll held here, which has its answer. */
  letGo(mailbox: number): void {
    this.#held.get(mailbox)?.finish('ended')
  }

  /** The hub ends: from here on none is held. */
  endAll(): void {
    this.#over = true
    this.#deafen()
    for (const held of [...this.#held.values()]) held.finish('ended')
  }

  /**
   * Waits until mail comes, the time is over, a newer poll takes its place, or the caller has gone. `look` finds mail of
   * which word was lost.
   */
  wait(
    mailbox: number,
    waitMs: number,
    onGone: (callback: () => void) => () => void,
    look: () => Promise<boolean> = async () => false,
  ): Promise<Waited> {
    const endedOlder = this.#held.has(mailbox)
    this.#wakeUps.tell(mailbox, 'newer')
    return new Promise(resolve => {
      let stopListening = (): void => undefined
      const finish = (end: PollEnd): void => {
        this.#timers.clear(timer)
        this.#timers.clear(looking)
        stopListening()
        if (this.#held.get(mailbox) === held) this.#held.delete(mailbox)
        resolve({ end, endedOlder: held.endedOlder })
      }
      const timer = this.#timers.after(waitMs, () => finish('timeout'))
      const looking = this.#lookOften(async () => {
        if (await look()) finish('mail')
      })
      const held: Held = { finish, endedOlder }
      this.#held.set(mailbox, held)
      stopListening = onGone(() => finish('gone'))
    })
  }

  #lookOften(look: () => Promise<void>): Timer | undefined {
    const { lookEveryMs } = this.#wakeUps
    // a store that can't be read is told to whoever asks it next
    return lookEveryMs === undefined
      ? undefined
      : this.#timers.every(lookEveryMs, () => void look().catch(() => undefined))
  }
}
