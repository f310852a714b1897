/** Times of signers in the memory of one process. */
import type { Store } from '../../store/port.ts'
import { keyOf, makeRoom } from '../bounded.ts'
import { AHEAD_UNSTORED_MS } from '../clocks.ts'
import { CLOCK_WINDOW_MS } from '../limits.ts'
import type { Replay, SignedTime, TimeTaken } from '../ports/replay.ts'

const MARKS_MAX = 16_384
/** So many requests of a signer may be taken while a body of it comes. */
const OVERTAKEN_MAX = 1024

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
  /** Of signers whose bodies overlap. */
  readonly #overlapping = new Map<string, TakenTimes>()
  #prunedMs = 0

  /** After a start every floor lies above all that the process before it may have accepted without storing it. */
  constructor({ store, nowMs, lastMs }: ReplayOptions) {
    this.#store = store
    this.#startFloorMs = Math.max(nowMs, lastMs) + AHEAD_UNSTORED_MS
  }

  async floor(aid: string): Promise<number> {
    return this.#lastMs.get(aid) ?? Math.max(this.#startFloorMs, (await this.#store.account(aid)).floorMs)
  }

  async take({ aid, tsMs, mark, nowMs, windowMs, floorMs }: SignedTime): Promise<TimeTaken> {
    const stored = this.#lastMs.has(aid) ? 0 : (await this.#store.account(aid)).floorMs
    // from here to the end nothing is waited for, so that what was judged is what is remembered
    const seen = keyOf(mark)
    if (this.#marks.has(seen)) return { outcome: 'repeated' }
    const last = Math.max(this.#lastMs.get(aid) ?? Math.max(this.#startFloorMs, stored), stored)
    const isOld = tsMs < nowMs - windowMs
    const overlapping = floorMs === undefined ? undefined : this.#timesOf(aid)
    const isLate = overlapping?.isNew(tsMs) === true && tsMs > (floorMs as number)
    if ((tsMs <= last && !isLate) || isOld)
      return { outcome: 'stale', floorMs: isOld ? Math.max(last, nowMs) : last }
    if (tsMs > nowMs + windowMs) return { outcome: 'ahead' }
    overlapping?.add(tsMs)
    this.#lastMs.set(aid, Math.max(last, tsMs))
    this.#marks.set(seen, Math.floor(tsMs / 1000))
    this.#prune(nowMs)
    return { outcome: 'taken' }
  }

  #timesOf(aid: string): TakenTimes {
    const times = this.#overlapping.get(aid) ?? new TakenTimes()
    this.#overlapping.set(aid, times)
    return times
  }

  /** Times older than the window are refused by the clock alone, so nothing needs to be remembered of them. */
  #prune(nowMs: number): void {
    // A repeat of one that had to go is stale still.
    makeRoom(this.#marks, MARKS_MAX)
    if (Math.abs(nowMs - this.#prunedMs) < CLOCK_WINDOW_MS) return
    this.#prunedMs = nowMs
    for (const [aid, ms] of this.#lastMs)
      if (this.#isPast(ms, nowMs)) {
        this.#lastMs.delete(aid)
        this.#overlapping.delete(aid)
      }
    for (const [mark, second] of this.#marks)
      if (second * 1000 < nowMs - CLOCK_WINDOW_MS) this.#marks.delete(mark)
  }

  #isPast(ms: number, nowMs: number): boolean {
    return ms < nowMs - CLOCK_WINDOW_MS && this.#startFloorMs < nowMs - CLOCK_WINDOW_MS
  }
}

/** The latest times that were taken of one signer; one that was forgotten, or is older, is not new. */
class TakenTimes {
  readonly #times = new Set<number>()
  #forgottenMs = 0

  isNew(tsMs: number): boolean {
    return tsMs > this.#forgottenMs && !this.#times.has(tsMs)
  }

  add(tsMs: number): void {
    this.#times.add(tsMs)
    if (this.#times.size <= OVERTAKEN_MAX) return
    const [first = 0] = this.#times
    this.#times.delete(first)
    this.#forgottenMs = Math.max(this.#forgottenMs, first)
  }
}
