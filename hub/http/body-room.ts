/**
 * Room for bodies on their way in: a pool, and in it a share for each address and each recipient, so that nobody fills
 * it alone. Bytes are counted as they arrive; what a client only declares takes no room.
 */
import { Refusal } from '../core/refusal.ts'

/** What a body takes from its beginning: room for the head that its credential is judged by. */
export const HEAD_BYTES = 4096

export class BodyPool {
  readonly #max: number
  readonly #shareMax: number
  readonly #shares = new Map<string, number>()
  #held = 0

  /** No owner may hold more than `shareMax` of the `max` bytes. */
  constructor(max: number, shareMax: number) {
    this.#max = max
    this.#shareMax = Math.min(shareMax, max)
  }

  get held(): number {
    return this.#held
  }

  /** Room for one body; without an owner only the pool as a whole limits it. */
  open(owner?: string): BodyRoom {
    return new BodyRoom(this, owner === undefined ? [] : [owner])
  }

  /** Takes room for all of these owners; one that has had its share is told so, before the pool is looked at. */
  take(bytes: number, owners: readonly string[]): void {
    const over = (owner: string): boolean => (this.#shares.get(owner) ?? 0) + bytes > this.#shareMax
    if (this.#shareMax < this.#max && owners.some(over)) throw new Refusal('rateLimited')
    if (this.#held + bytes > this.#max) throw new Refusal('overloaded')
    this.give(-bytes, owners)
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
  #owners: string[]
  #held = 0

  constructor(pool: BodyPool, owners: string[]) {
    this.#pool = pool
    this.#owners = owners
  }

  /** Holds room for so many bytes in all; refuses when there is none. */
  cover(bytes: number): void {
    const more = bytes - this.#held
    if (more <= 0) return
    this.#pool.take(more, this.#owners)
    this.#held = bytes
  }

  /** What comes from here on counts for this owner as well. */
  share(owner: string): void {
    const held = this.#held
    this.release()
    this.#owners = [...this.#owners, owner]
    this.cover(held)
  }

  /** Gives everything back. */
  release(): void {
    this.#pool.give(this.#held, this.#owners)
    this.#held = 0
  }
}
