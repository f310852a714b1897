/** Promises to keep files: whoever copies a data directory from outside gets one, and it ends by itself if he dies. */
import { toHex } from '../../protocol/encoding/bytes.ts'
import type { Timer, Timers } from '../../protocol/timers.ts'
import type { Blobs } from '../store/blob-port.ts'

const LEASE_MS = 3_600_000
const NAME_BYTES = 16

type Outside = { timers: Timers; random: (count: number) => Uint8Array }

export class FileLeases {
  readonly #blobs: readonly Pick<Blobs, 'hold'>[]
  readonly #outside: Outside
  readonly #held = new Map<string, { end: () => Promise<void>; timer: Timer }>()

  constructor(blobs: readonly Pick<Blobs, 'hold'>[], outside: Outside) {
    this.#blobs = blobs
    this.#outside = outside
  }

  get count(): number {
    return this.#held.size
  }

  /** Keeps every file until the lease is ended or runs out. */
  async take(): Promise<string> {
    const ends = await Promise.all(this.#blobs.map(blobs => blobs.hold()))
    const end = async (): Promise<void> => {
      for (const one of ends) await one()
    }
    const { timers, random } = this.#outside
    const name = toHex(random(NAME_BYTES))
    const timer = timers.after(LEASE_MS, () => void this.end(name))
    timer.unref()
    this.#held.set(name, { end, timer })
    return name
  }

  /** Whether there was such a lease. */
  async end(name: string): Promise<boolean> {
    const lease = this.#held.get(name)
    if (lease === undefined) return false
    this.#held.delete(name)
    this.#outside.timers.clear(lease.timer)
    await lease.end()
    return true
  }

  async endAll(): Promise<void> {
    for (const name of [...this.#held.keys()]) await this.end(name)
  }
}
