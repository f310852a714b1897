/**
 * The time by which all processes of a hub judge: that of their database, which each looks at every two seconds. Between
 * two looks it goes on by itself, so that a clock of this machine that is wrong, or jumps, moves nothing.
 */
import type { Timers } from '../../protocol/timers.ts'

/** Further off than this a machine's clock may not be from the database's. */
export const CLOCK_OFF_MS = 500
/** An answer that took longer tells too little of the time. */
const ANSWER_MS = CLOCK_OFF_MS

/** Hears how far this machine's clock is ahead, once it is too far off; of nothing once it is right. */
export type OnClockOff = (aheadMs: number | undefined) => void

type Parts = { now: () => number; timers: Timers; onOff?: OnClockOff | undefined }

export class AgreedClock {
  readonly #parts: Parts
  /** What the database's clock showed, and when that was. */
  #seen: { ms: number; atMs: number } | undefined
  #aheadMs = 0
  #isOff = false

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Unix ms; by this machine's clock until the database was asked. */
  now(): number {
    const { now, timers } = this.#parts
    return this.#seen === undefined ? now() : Math.floor(this.#seen.ms + timers.monotonic() - this.#seen.atMs)
  }

  /** How far this machine's clock is ahead of the database's; negative where it is behind. */
  get aheadMs(): number {
    return this.#aheadMs
  }

  /** Takes the time out of what the database answers. */
  async look<T extends { nowMs: number }>(ask: () => Promise<T | undefined>): Promise<T | undefined> {
    const { now, timers, onOff } = this.#parts
    const askedMs = timers.monotonic()
    const answer = await ask()
    const tookMs = timers.monotonic() - askedMs
    if (answer === undefined || (tookMs > ANSWER_MS && this.#seen !== undefined)) return answer
    this.#seen = { ms: answer.nowMs, atMs: askedMs + tookMs / 2 }
    this.#aheadMs = Math.round(now() - this.now())
    const isOff = Math.abs(this.#aheadMs) > CLOCK_OFF_MS
    if (isOff !== this.#isOff) onOff?.(isOff ? this.#aheadMs : undefined)
    this.#isOff = isOff
    return answer
  }
}
