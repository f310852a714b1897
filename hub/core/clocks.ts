/**
 * Times of signed requests: each signer's accepted times strictly rise, so no signed request works twice, also not
 * after a restart. Attacker: who holds an old request and replays it, or a client whose clock runs ahead.
 */
import type { Store } from '../store/port.ts'
import { keyOf, makeRoom } from './bounded.ts'
import { CLOCK_WINDOW_MS } from './limits.ts'
import { Refusal } from './refusal.ts'

/** A time this far ahead of the hub's clock is stored before the request takes effect. */
const AHEAD_UNSTORED_MS = 2000
export const CLOCK_SETTING = 'clock'
const CLOCK_STORED_EVERY_MS = 1000
const SIGNATURES_MAX = 16_384
/** As much of a signature as nobody meets by chance. */
const SIGNATURE_PART_BYTES = 16

/** The newest time that the process before this one stored; 0 where there was none. */
export const lastStoredMs = async (store: Pick<Store, 'setting'>): Promise<number> =>
  Number((await store.setting(CLOCK_SETTING)) ?? 0)

export class SignerClocks {
  readonly #store: Store
  readonly #startFloorMs: number
  readonly #lastMs = new Map<string, number>()
  /** The second for which each was made. */
  readonly #signatures = new Map<string, number>()
  #clockStoredMs = 0
  #prunedMs = 0

  /** The newest time that the process before this one stored; 0 where there was none. */
  readonly lastMs: number

  private constructor(store: Store, startFloorMs: number, lastMs: number) {
    this.#store = store
    this.#startFloorMs = startFloorMs
    this.lastMs = lastMs
  }

  /** After a start every floor lies above all that the process before it may have accepted without storing it. */
  static async open(store: Store, nowMs: number): Promise<SignerClocks> {
    const stored = await lastStoredMs(store)
    return new SignerClocks(store, Math.max(nowMs, stored) + AHEAD_UNSTORED_MS, stored)
  }

  /** Judges the time of a request whose signature has verified; what it accepts can't be used again. */
  async accept(aid: string, tsMs: number, signature: Uint8Array, nowMs: number): Promise<void> {
    const stored = this.#lastMs.has(aid) ? 0 : (await this.#store.account(aid)).floorMs
    const seen = keyOf(signature.subarray(0, SIGNATURE_PART_BYTES))
    if (this.#signatures.has(seen)) throw new Refusal('replayed')
    const last = Math.max(this.#lastMs.get(aid) ?? Math.max(this.#startFloorMs, stored), stored)
    const isOld = tsMs < nowMs - CLOCK_WINDOW_MS
    if (tsMs <= last || isOld)
      throw new Refusal('timeStale', { floorMs: isOld ? Math.max(last, nowMs) : last })
    if (tsMs > nowMs + CLOCK_WINDOW_MS)
      throw new Refusal('signatureInvalid', {
        why: "its time is ahead of this hub's clock",
        step: 'set the clock, then sign again',
      })
    this.#lastMs.set(aid, tsMs)
    this.#signatures.set(seen, Math.floor(tsMs / 1000))
    this.#prune(nowMs)
    this.note(nowMs)
    if (tsMs > nowMs + AHEAD_UNSTORED_MS) await this.#store.raiseFloor(aid, tsMs)
  }

  /** Times older than the window are refused by the clock alone, so nothing needs to be remembered of them. */
  #prune(nowMs: number): void {
    // A repeat of one that had to go is stale still.
    makeRoom(this.#signatures, SIGNATURES_MAX)
    if (Math.abs(nowMs - this.#prunedMs) < CLOCK_WINDOW_MS) return
    this.#prunedMs = nowMs
    for (const [aid, ms] of this.#lastMs) if (this.#isPast(ms, nowMs)) this.#lastMs.delete(aid)
    for (const [signature, second] of this.#signatures)
      if (second * 1000 < nowMs - CLOCK_WINDOW_MS) this.#signatures.delete(signature)
  }

  #isPast(ms: number, nowMs: number): boolean {
    return ms < nowMs - CLOCK_WINDOW_MS && this.#startFloorMs < nowMs - CLOCK_WINDOW_MS
  }

  /** The hub's own clock, never a client's; it shares the commits of other changes. */
  note(nowMs: number): void {
    if (nowMs - this.#clockStoredMs < CLOCK_STORED_EVERY_MS) return
    this.#clockStoredMs = nowMs
    this.#store.putSetting(CLOCK_SETTING, String(nowMs)).catch(() => undefined)
  }
}
