/**
 * Who was refused registration lately, for the operator. In memory only and bounded; an AID stands here as it was
 * claimed, because those who are refused at the door prove nothing.
 */
import { present } from '../../../protocol/encoding/present.ts'
import { makeRoom } from '../bounded.ts'
import type { KeptOut, Refusal, RefusalReason } from '../refusal.ts'

const KEPT_MAX = 1000

export type RefusedLately = {
  aid: string
  reason: RefusalReason
  keptOut?: KeptOut
  atMs: number
  times: number
}

export class RefusedNewcomers {
  readonly #held = new Map<string, RefusedLately>()

  note(aid: string, { code: reason, facts }: Refusal, nowMs: number): void {
    const times = (this.#held.get(aid)?.times ?? 0) + 1
    this.#held.delete(aid)
    makeRoom(this.#held, KEPT_MAX)
    this.#held.set(aid, { aid, reason, ...present({ keptOut: facts.keptOut }), atMs: nowMs, times })
  }

  /** The newest first. */
  list(): RefusedLately[] {
    return [...this.#held.values()].reverse()
  }

  of(aid: string): RefusedLately | undefined {
    return this.#held.get(aid)
  }
}
