/** Tells the operator when mail begins to be refused because the hub has no room, and when that has ended: one line each. */
import type { Alert } from './context.ts'

/** What is short may still find room while what is long does not; so long nothing may have been refused. */
const ENDED_AFTER_MS = 60_000

export class RoomWatch {
  readonly #alert: Alert
  #told = false
  #refused = 0
  #latestMs = 0

  constructor(alert: Alert) {
    this.#alert = alert
  }

  refused(nowMs: number): void {
    this.#latestMs = nowMs
    this.#refused += 1
    if (!this.#told) this.#alert('mail is refused: no room on the disk or in the store', {})
    this.#told = true
  }

  taken(nowMs: number): void {
    if (!this.#told || nowMs - this.#latestMs < ENDED_AFTER_MS) return
    this.#alert('there is room for mail again', { refused: this.#refused })
    this.#told = false
    this.#refused = 0
  }
}
