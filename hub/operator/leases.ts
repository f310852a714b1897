/** Promises to keep files: whoever copies a data directory from outside gets one, and it ends by itself if he dies. */
import { randomUUID } from 'node:crypto'
import type { Blobs } from '../store/blob-port.ts'

const LEASE_MS = 3_600_000

export class FileLeases {
  readonly #blobs: Pick<Blobs, 'hold'>
  readonly #held = new Map<string, { end: () => Promise<void>; timer: NodeJS.Timeout }>()

  constructor(blobs: Pick<Blobs, 'hold'>) {
    this.#blobs = blobs
  }

  get count(): number {
    return this.#held.size
  }

  /** Keeps every file until the lease is ended or runs out. */
  async take(): Promise<string> {
    const end = await this.#blobs.hold()
    const name = randomUUID()
    const timer = setTimeout(() => void this.end(name), LEASE_MS)
    timer.unref()
    this.#held.set(name, { end, timer })
    return name
  }

  /** Whether there was such a lease. */
  async end(name: string): Promise<boolean> {
    const lease = this.#held.get(name)
    if (lease === undefined) return false
    this.#held.delete(name)
    clearTimeout(lease.timer)
    await lease.end()
    return true
  }

  async endAll(): Promise<void> {
    for (const name of [...this.#held.keys()]) await this.end(name)
  }
}
