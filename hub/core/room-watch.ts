/** Tells the operator when mail begins to be refused because the hub has no room, and when that has ended: one line each. */
import type { Timer, Timers } from '../../protocol/timers.ts'
import type { Alert } from './context.ts'

/** What is short may still find room while what is long does not; so long nothing may have been refused. */
const ENDED_AFTER_MS = 60_000
const LOOK_EVERY_MS = 5000

export type RoomWatchParts = {
  alert: Alert
  now: () => number
  timers: Timers
  hasRoom: () => Promise<boolean>
  /** Where room is short, how much is left, and what makes more. */
  facts: () => Promise<Record<string, string | number>>
}

export class RoomWatch {
  readonly #parts: RoomWatchParts
  /** Runs while mail is refused. */
  #timer: Timer | undefined
  #refused = 0
  #latestMs = 0

  constructor(parts: RoomWatchParts) {
    this.#parts = parts
  }

  /** Whether mail is refused, or was a moment ago. */
  get isShort(): boolean {
    return this.#timer !== undefined
  }

  async refused(): Promise<void> {
    this.#latestMs = this.#parts.now()
    this.#refused += 1
    if (this.#timer !== undefined) return
    this.#timer = this.#parts.timers.every(LOOK_EVERY_MS, () => void this.look())
    this.#timer.unref()
    const facts = await this.#parts.facts().catch(() => ({}))
    this.#parts.alert('mail is refused: no room on the disk or in the store', facts)
  }

  taken(): void {
    if (!this.#isQuiet()) return
    this.#parts.alert('there is room for mail again', { refused: this.#refused })
    this.close()
    this.#refused = 0
  }

  /** Finds out whether there is room again where no mail comes to tell. */
  async look(): Promise<void> {
    if (this.#isQuiet() && (await this.#parts.hasRoom().catch(() => false))) this.taken()
  }

  close(): void {
    this.#parts.timers.clear(this.#timer)
    this.#timer = undefined
  }

  #isQuiet(): boolean {
    return this.#timer !== undefined && this.#parts.now() - this.#latestMs >= ENDED_AFTER_MS
  }
}
