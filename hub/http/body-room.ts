/**
 * Room for bodies on their way in: a pool, and in it a share for each address and each recipient, so that nobody fills
 * it alone. Bytes are counted as they arrive; what a client only declares takes no room. Many together can fill it: then
 * a body that yields and has held much for long gives way to what comes.
 */
import type { Timers } from '../../protocol/timers.ts'
import { Refusal } from '../core/refusal.ts'

/** What a body takes from its beginning: room for the head that its credential is judged by. */
export const HEAD_BYTES = 4096

export class BodyPool {
  readonly #max: number
  readonly #shareMax: number
  readonly #timers: Timers
  readonly #shares = new Map<string, number>()
  /** Bodies that give way while they come in, and how each is told. */
  readonly #yielding = new Map<BodyRoom, () => void>()
  #held = 0

  /** No owner may hold more than `shareMax` of the `max` bytes. */
  constructor(max: number, shareMax: number, timers: Timers) {
    this.#max = max
    this.#timers = timers
    this.#shareMax = Math.min(shareMax, max)
  }

  get held(): number {
    return this.#held
  }

  /** Room for one body; without an owner only the pool as a whole limits it. */
  open(owner?: string): BodyRoom {
    return new BodyRoom(this, owner === undefined ? [] : [owner], this.#timers.monotonic())
  }

  /** Takes room for all of these owners; one that has had its share is told so, before the pool is looked at. */
  take(bytes: number, owners: readonly string[], room: BodyRoom): void {
    const over = (owner: string): boolean => (this.#shares.get(owner) ?? 0) + bytes > this.#shareMax
    if (this.#shareMax < this.#max && owners.some(over)) throw new Refusal('rateLimited')
    while (this.#held + bytes > this.#max) this.#endHeaviest(room)
    this.give(-bytes, owners)
  }

  /** The body of this room gives way from here on; `gone` is called when it has. */
  yields(room: BodyRoom, gone: () => void): void {
    this.#yielding.set(room, gone)
  }

  stays(room: BodyRoom): void {
    this.#yielding.delete(room)
  }

  /** Takes the room of the heaviest body, unless none weighs more than the one that asks. */
  #endHeaviest(asking: BodyRoom): void {
    const nowMs = this.#timers.monotonic()
    let heaviest = asking
    let most = asking.weight(nowMs)
    for (const room of this.#yielding.keys()) {
      const weight = room.weight(nowMs)
      if (weight > most) [heaviest, most] = [room, weight]
    }
    const gone = this.#yielding.get(heaviest)
    if (heaviest === asking || gone === undefined) throw new Refusal('overloaded')
    heaviest.release()
    gone()
  }

  give(bytes: number, owners: readonly string[]): void {
    this.#held -= bytes
    for (const owner of owners) {
      const left = (this.#shares.get(owner) ?? 0) - bytes
      if (left === 0) this.#shares.delete(owner)
      else this.#shares.set(owner, left)
    }
  }
}

/** What one body holds of a pool. */
export class BodyRoom {
  readonly #pool: BodyPool
  readonly #openedMs: number
  #owners: string[]
  #held = 0

  constructor(pool: BodyPool, owners: string[], openedMs: number) {
    this.#pool = pool
    this.#owners = owners
    this.#openedMs = openedMs
  }

  /** Holds room for so many bytes in all; refuses when there is none. */
  cover(bytes: number): void {
    const more = bytes - this.#held
    if (more <= 0) return
    this.#pool.take(more, this.#owners, this)
    this.#held = bytes
  }

  /** What comes from here on counts for this owner as well. */
  share(owner: string): void {
    const held = this.#held
    this.release()
    this.#owners = [...this.#owners, owner]
    this.cover(held)
  }

  /** What it costs others, in bytes times milliseconds: a small body, or one that came quickly, costs nearly nothing. */
  weight(nowMs: number): number {
    return this.#held * (nowMs - this.#openedMs)
  }

  /** While its body comes in it gives way to others; `gone` is called when it has. */
  yields(gone: () => void): void {
    this.#pool.yields(this, gone)
  }

  /** Its body is here: it stays until it is released. */
  stays(): void {
    this.#pool.stays(this)
  }

  /** Gives everything back. */
  release(): void {
    this.stays()
    this.#pool.give(this.#held, this.#owners)
    this.#held = 0
  }
}
