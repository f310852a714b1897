/** Times of signers in the memory of one process. */
import type { Store } from '../../store/port.ts'
import { keyOf, makeRoom } from '../bounded.ts'
import { AHEAD_UNSTORED_MS } from '../clocks.ts'
import { CLOCK_WINDOW_MS } from '../limits.ts'
import type { Replay, SignedTime, TimeTaken } from '../ports/replay.ts'

const MARKS_MAX = 16_384

export type ReplayOptions = {
  store: Pick<Store, 'account'>
  /** When this process started, and the newest time that the one before it stored; 0 where there was none. */
  nowMs: number
  lastMs: number
}

export class ReplayInProcess implements Replay {
  readonly #store: ReplayOptions['store']
  readonly #startFloorMs: number
  readonly #lastMs = new Map<string, number>()
  /** The second for which each was made. */
  readonly #marks = new Map<string, number>()
  #prunedMs = 0

  /** After a start every floor lies above all that the process before it may have accepted without storing it. */
  constructor({ store, nowMs, lastMs }: ReplayOptions) {
    this.#store = store
    this.#startFloorMs = Math.max(nowMs, lastMs) + AHEAD_UNSTORED_MS
  }

  async take({ aid, tsMs, mark, nowMs, windowMs }: SignedTime): Promise<TimeTaken> {
    const stored = this.#lastMs.has(aid) ? 0 : (await this.#store.account(aid)).floorMs
    // from here to the end nothing is waited for, so that what was judged is what is remembered
    const seen = keyOf(mark)
    if (this.#marks.has(seen)) return { outcome: 'repeated' }
    const last = Math.max(this.#lastMs.get(aid) ?? Math.max(this.#startFloorMs, stored), stored)
    const isOld = tsMs < nowMs - windowMs
    if (tsMs <= last || isOld) return { outcome: 'stale', floorMs: isOld ? Math.max(last, nowMs) : last }
    if (tsMs > nowMs + windowMs) return { outcome: 'ahead' }
    this.#lastMs.set(aid, tsMs)
    this.#marks.set(seen, Math.floor(tsMs / 1000))
    this.#prune(nowMs)
    return { outcome: 'taken' }
  }

  /** Times older than the window are refused by the clock alone, so nothing needs to be remembered of them. */
  #prune(nowMs: number): void {
    // A repeat of one that had to go is stale still.
    makeRoom(this.#marks, MARKS_MAX)
    if (Math.abs(nowMs - this.#prunedMs) < CLOCK_WINDOW_MS) return
    this.#prunedMs = nowMs
    for (const [aid, ms] of this.#lastMs) if (this.#isPast(ms, nowMs)) this.#lastMs.delete(aid)
    for (const [mark, second] of this.#marks)
      if (second * 1000 < nowMs - CLOCK_WINDOW_MS) this.#marks.delete(mark)
  }

  #isPast(ms: number, nowMs: number): boolean {
    return ms < nowMs - CLOCK_WINDOW_MS && this.#startFloorMs < nowMs - CLOCK_WINDOW_MS
  }
}
