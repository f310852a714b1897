/** Keeps one link to the database: opens it again when it is lost, and finds out when it hangs. */
import { sleep, type Timers } from '../../protocol/timers.ts'
import type { Link } from '../store/postgres/link.ts'

const LOOK_EVERY_MS = 2000
const ANSWER_MS = 5000
const AGAIN_MS = 250
const AGAIN_MAX_MS = 5000

type Hear = { up: (link: Link) => Promise<void>; down?: () => void }

export class KeptLink {
  readonly #open: () => Promise<Link>
  readonly #timers: Timers
  readonly #hearing: Hear[] = []
  readonly #stopped = new AbortController()
  #link: Link | undefined
  #kept: Promise<void> = Promise.resolve()

  constructor(open: () => Promise<Link>, timers: Timers) {
    this.#open = open
    this.#timers = timers
  }

  /** The link while it is up. */
  get now(): Link | undefined {
    return this.#link
  }

  /** `up` is done with each new link before anyone else has it; said before `start`. */
  on(hear: Hear): void {
    this.#hearing.push(hear)
  }

  /** Rejects where the first link can't be opened; later ones are tried again and again. */
  async start(): Promise<void> {
    const link = await this.#up()
    this.#kept = this.#keep(link)
  }

  async close(): Promise<void> {
    this.#stopped.abort()
    await this.#link?.close().catch(() => undefined)
    await this.#kept
  }

  async #up(): Promise<Link> {
    const link = await this.#open()
    try {
      for (const { up } of this.#hearing) await within(this.#timers, ANSWER_MS, up(link))
    } catch (error) {
      void link.close().catch(() => undefined)
      throw error
    }
    this.#link = link
    return link
  }

  async #keep(first: Link): Promise<void> {
    let link: Link | undefined = first
    while (link !== undefined) {
      await this.#untilLost(link)
      this.#link = undefined
      for (const { down } of this.#hearing) down?.()
      void link.close().catch(() => undefined)
      link = await this.#again()
    }
  }

  /** Resolves when the link has ended, or does not answer any more. */
  async #untilLost(link: Link): Promise<void> {
    let isOver = false
    const { signal } = this.#stopped
    const asking = async () => {
      while (!isOver && !signal.aborted) {
        await sleep(this.#timers, LOOK_EVERY_MS, signal)
        await within(this.#timers, ANSWER_MS, link.run('SELECT 1'))
      }
    }
    await Promise.race([link.ended, asking().catch(() => undefined)])
    isOver = true
  }

  /** Undefined once it was closed. */
  async #again(): Promise<Link | undefined> {
    const { signal } = this.#stopped
    for (let pauseMs = AGAIN_MS; !signal.aborted; pauseMs = Math.min(2 * pauseMs, AGAIN_MAX_MS)) {
      const link = await this.#up().catch(() => undefined)
      if (link !== undefined) return link
      await sleep(this.#timers, pauseMs, signal).catch(() => undefined)
    }
    return undefined
  }
}

/** Rejects where it takes longer. */
async function within(timers: Timers, ms: number, work: Promise<unknown>): Promise<void> {
  const late = Promise.withResolvers<never>()
  const timer = timers.after(ms, () => late.reject(new Error('the database does not answer')))
  try {
    await Promise.race([work, late.promise])
  } finally {
    timers.clear(timer)
  }
}
