/**
 * Times of signed requests: each signer's accepted times strictly rise, so no signed request works twice, also not
 * after a restart. Attacker: who holds an old request and replays it, or a client whose clock runs ahead.
 */
import type { Store } from '../store/port.ts'
import type { HubContext } from './context.ts'
import { CLOCK_WINDOW_MS } from './limits.ts'
import { Refusal } from './refusal.ts'

/** A time this far ahead of the hub's clock is stored before the request takes effect. */
export const AHEAD_UNSTORED_MS = 2000
export const CLOCK_SETTING = 'clock'
const CLOCK_STORED_EVERY_MS = 1000
/** As much of a signature as nobody meets by chance. */
const MARK_BYTES = 16

/** The newest time that the process before this one stored; 0 where there was none. */
export const lastStoredMs = async (store: Pick<Store, 'setting'>): Promise<number> =>
  Number((await store.setting(CLOCK_SETTING)) ?? 0)

/** `floorMs`: the floor that the head of the request met, where its body came after it. */
export type Acceptance = {
  floorMs?: number | undefined
  /** Nothing comes of it that a repeat could do again, so a stranger need not be remembered over a restart. */
  changesNothing?: boolean
}

export class SignerClocks {
  readonly #context: Pick<HubContext, 'store' | 'memory'>
  #clockStoredMs = 0

  constructor(context: Pick<HubContext, 'store' | 'memory'>) {
    this.#context = context
  }

  /** Above which time of a signer others are accepted now, Unix ms. */
  floor(aid: string): Promise<number> {
    return this.#context.memory.replay.floor(aid)
  }

  /**
   * Judges the time of a request whose signature has verified; what it accepts can't be used again. Returns the version that
   * the signer's row had then, where another process may have written it.
   */
  async accept(
    { aid, tsMs, signature }: { aid: string; tsMs: number; signature: Uint8Array },
    nowMs: number,
    { floorMs, changesNothing = false }: Acceptance = {},
  ): Promise<number | undefined> {
    const { store, memory } = this.#context
    const mark = signature.subarray(0, MARK_BYTES)
    const taken = await memory.replay.take({ aid, tsMs, mark, nowMs, windowMs: CLOCK_WINDOW_MS, floorMs })
    if (taken.outcome === 'repeated') throw new Refusal('replayed')
    if (taken.outcome === 'stale') throw new Refusal('timeStale', { floorMs: taken.floorMs })
    if (taken.outcome === 'ahead')
      throw new Refusal('signatureInvalid', {
        why: "its time is ahead of this hub's clock",
        step: 'set the clock, then sign again',
      })
    this.note(nowMs)
    if (tsMs > nowMs + AHEAD_UNSTORED_MS && !changesNothing) await store.raiseFloor(aid, tsMs)
    return taken.version
  }

  /** The hub's own clock, never a client's; it shares the commits of other changes. */
  note(nowMs: number): void {
    if (nowMs - this.#clockStoredMs < CLOCK_STORED_EVERY_MS) return
    this.#clockStoredMs = nowMs
    this.#context.store.putSetting(CLOCK_SETTING, String(nowMs)).catch(() => undefined)
  }
}
