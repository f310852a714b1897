/**
 * Places for answers that are long: so many are written at once, and few of them to one address. Who finds none waits a
 * little, in order. Nobody keeps a place for ever: when all are taken, the answer that has gone on for longest ends.
 */
import type { ServerResponse } from 'node:http'
import type { Timers } from '../../protocol/timers.ts'
import { addressBucket, isProxy } from '../core/address.ts'
import { Refusal } from '../core/refusal.ts'
import { Streamed, whenClosed } from './reply.ts'

/** How many have a place, and how many wait for one, in all and of one address. */
export type PlaceLimits = { places: number; ofAddress: number; waiting: number; waitingOfAddress: number }

const WAIT_MS = 5000
const RETRY_MS = 10_000
/** So long nobody takes the place of an answer. */
const KEPT_MS = 120_000

/** A proxy on this machine stands for everybody, so its answers have no owner. */
type Asked = { owner: string | undefined; response: ServerResponse }

export class Places {
  readonly #timers: Timers
  readonly #limits: PlaceLimits
  /** Since when each has its place, the first one first. */
  readonly #held = new Map<Asked, number>()
  /** Who waits, in order, and how each is let in. */
  readonly #waiting = new Map<Asked, () => void>()

  constructor(timers: Timers, limits: PlaceLimits) {
    this.#timers = timers
    this.#limits = limits
  }

  /** The reply, which has a place while it is written. */
  hold(address: string, reply: Streamed): Streamed {
    const owner = isProxy(address) ? undefined : addressBucket(address)
    const write = async (response: ServerResponse): Promise<void> => {
      const asked = { owner, response }
      await this.#enter(asked)
      try {
        await reply.write(response)
      } finally {
        this.#held.delete(asked)
        this.#letIn()
      }
    }
    return new Streamed(reply.headers, write, reply.status)
  }

  async #enter(asked: Asked): Promise<void> {
    if (this.#hasRoom(asked)) this.#held.set(asked, this.#timers.monotonic())
    else await this.#wait(asked)
  }

  #hasRoom({ owner }: Asked): boolean {
    const { places, ofAddress } = this.#limits
    return this.#held.size < places && countOf(owner, this.#held) < ofAddress
  }

  async #wait(asked: Asked): Promise<void> {
    const { waiting, waitingOfAddress } = this.#limits
    if (this.#waiting.size >= waiting || countOf(asked.owner, this.#waiting) >= waitingOfAddress) throw busy()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const timer = this.#timers.after(WAIT_MS, () => reject(busy()))
    const stopListening = whenClosed(asked.response, () => reject(new Error('the client has gone')))
    this.#waiting.set(asked, resolve)
    this.#endOldest()
    try {
      await promise
    } finally {
      this.#timers.clear(timer)
      stopListening()
      this.#waiting.delete(asked)
    }
  }

  /** Its connection is cut, and its place is free once that is known. */
  #endOldest(): void {
    if (this.#held.size < this.#limits.places) return
    const [first] = this.#held
    if (first !== undefined && this.#timers.monotonic() - first[1] > KEPT_MS) first[0].response.destroy()
  }

  #letIn(): void {
    for (const [asked, begin] of this.#waiting) {
      if (!this.#hasRoom(asked)) continue
      this.#waiting.delete(asked)
      this.#held.set(asked, this.#timers.monotonic())
      begin()
    }
  }
}

const busy = (): Refusal =>
  new Refusal('overloaded', { why: 'it writes as many lists as it may at once', retryAfterMs: RETRY_MS })

function countOf(owner: string | undefined, all: ReadonlyMap<Asked, unknown>): number {
  if (owner === undefined) return 0
  let count = 0
  for (const asked of all.keys()) if (asked.owner === owner) count += 1
  return count
}
