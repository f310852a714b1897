/**
 * Whether the database would take a new connection of this process: those that are there go on where its password or its
 * role is not good any more, until the first of them is lost.
 */
import type { Timer, Timers } from '../../protocol/timers.ts'
import type { Link } from '../store/postgres/link.ts'
import { StoreDenied } from '../store/setup-refused.ts'

const TRY_EVERY_MS = 30_000

/** Hears why none is taken; of nothing when they are taken again. */
export type OnDenied = (why: string | undefined) => void
type Parts = { open: () => Promise<Pick<Link, 'close'>>; timers: Timers; onDenied: OnDenied | undefined }

export class NewConnections {
  readonly #parts: Parts
  readonly #timer: Timer
  #denied: string | undefined
  #trying: Promise<void> | undefined

  constructor(parts: Parts) {
    this.#parts = parts
    this.#timer = parts.timers.every(TRY_EVERY_MS, () => {
      this.#trying ??= this.#try().finally(() => {
        this.#trying = undefined
      })
    })
    this.#timer.unref()
  }

  /** Why none is taken; undefined while they are, or while the database does not say. */
  get denied(): string | undefined {
    return this.#denied
  }

  async close(): Promise<void> {
    this.#parts.timers.clear(this.#timer)
    await this.#trying
  }

  async #try(): Promise<void> {
    try {
      const link = await this.#parts.open()
      await link.close()
      this.#note(undefined)
    } catch (error) {
      // one that is away is told of by what needs it
      if (error instanceof StoreDenied) this.#note(error.message)
    }
  }

  #note(why: string | undefined): void {
    if (why !== this.#denied) this.#parts.onDenied?.(why)
    this.#denied = why
  }
}
