/**
 * The time by which holds lapse: the hub's clock, less what it jumped ahead while credits were held. A clock that is wrong
 * by a day would give back what providers are at work for; so holds then lapse that much later, until an operator says
 * that the clock is right.
 */
import type { HubContext } from '../context.ts'
import { HOUR_MS } from '../limits.ts'

/** Sleep, a slow start and an ordinary correction stay below this. */
const JUMP_MS = HOUR_MS
/** What is left after a correction, by the time that it took. */
const NO_DOUBT_MS = 60_000
/** By how many ms the clock is doubted. */
export const DOUBT_SETTING = 'clock_doubt'
/** What the operator is told, with the order that ends it. */
export const DOUBTED =
  'the clock went ahead by more than an hour while credits were held; holds lapse that much later until you say that it is right: svc-hub clock accept'

type Needs = Pick<HubContext, 'store' | 'now' | 'alert'>

export class HoldClock {
  readonly #context: Needs
  #lastMs: number
  #doubtMs: number
  /** Whether what is doubted stands in the store, where another process may take it back. */
  #isNoted = true
  #heeding: Promise<void> | undefined

  private constructor(context: Needs, lastMs: number, doubtMs: number) {
    this.#context = context
    this.#lastMs = lastMs
    this.#doubtMs = doubtMs
  }

  /** `lastMs` is the newest time that the process before this one stored; 0 where there was none. */
  static async open(context: Needs, lastMs: number): Promise<HoldClock> {
    const { store, now } = context
    const { holds } = await store.creditTotals()
    const doubtMs = Number((await store.setting(DOUBT_SETTING)) ?? 0)
    const sinceMs = holds === 0 || lastMs === 0 ? now() : lastMs
    const clock = new HoldClock(context, sinceMs, holds === 0 ? 0 : doubtMs)
    clock.look()
    return clock
  }

  get doubtMs(): number {
    return this.#doubtMs
  }

  /** Unix ms by which a hold lapses. */
  now(): number {
    this.look()
    if (this.#doubtMs > 0 && this.#isNoted)
      this.#heeding ??= this.#heed().finally(() => {
        this.#heeding = undefined
      })
    return this.#context.now() - this.#doubtMs
  }

  look(): void {
    const nowMs = this.#context.now()
    const step = nowMs - this.#lastMs
    this.#lastMs = nowMs
    if (step > JUMP_MS) {
      this.#doubt(this.#doubtMs + step)
      this.#context.alert(DOUBTED, { ahead_ms: step, doubted_ms: this.#doubtMs })
    }
    // a clock that is set back takes back what it jumped
    else if (step < 0 && this.#doubtMs > 0) {
      const left = this.#doubtMs + step
      this.#doubt(left < NO_DOUBT_MS ? 0 : left)
    }
  }

  /** The clock is right, or nothing is held that it could give back. */
  accept(): Promise<void> {
    this.look()
    return this.#doubtMs === 0 ? Promise.resolve() : this.#store(0)
  }

  /** The clock may have been accepted at another process of this hub. */
  async #heed(): Promise<void> {
    const doubted = this.#doubtMs
    const stored = await this.#context.store.setting(DOUBT_SETTING).catch(() => undefined)
    if (Number(stored) === 0 && this.#isNoted && this.#doubtMs === doubted) this.#doubtMs = 0
  }

  #doubt(ms: number): void {
    this.#store(ms).catch(error =>
      this.#context.alert('a doubted clock was not noted', { error: String(error) }),
    )
  }

  async #store(ms: number): Promise<void> {
    this.#doubtMs = ms
    this.#isNoted = false
    await this.#context.store.putSetting(DOUBT_SETTING, String(ms))
    this.#isNoted = this.#doubtMs === ms
  }
}
