/**
 * Work that a node does again and again: one turn at a time, after a pause or when it is woken. A turn that fails is
 * said once and waited out, so that neither a full disk nor a mistake of ours ends the loop or makes it spin.
 */
import type { Logger } from 'pino'
import { wordsOf } from '../../protocol/encoding/errors.ts'
import type { Waker } from './waker.ts'

const REST_MAX_MS = 10_000
/** How long a loop sleeps while it may not run. */
const IDLE_MS = 60_000

export type LoopOptions = {
  /** Names the loop in the log. */
  name: string
  waker: Waker
  log: Pick<Logger, 'error' | 'info'>
  /** The first rest after a turn that failed; each further one is twice as long. */
  restFirstMs: number
  /** No rest is longer. */
  restMaxMs?: number
  /** Whether a turn may run now; the loop sleeps while it may not. */
  mayRun?: () => boolean
  /** One turn; answers after how many milliseconds the next one is due. */
  turn: (signal: AbortSignal) => number | Promise<number>
}

/** Does something with each; one that fails holds up no other, and is thrown once all had their turn. */
export function attemptEach<T>(items: Iterable<T>, work: (item: T) => void): void {
  const failed: unknown[] = []
  for (const item of items)
    try {
      work(item)
    } catch (error) {
      failed.push(error)
    }
  if (failed.length > 0) throw failed[0]
}

export class Loop {
  readonly #options: LoopOptions
  readonly #lifetime = new AbortController()
  readonly #tasks = new Set<Promise<void>>()
  #running: Promise<void> | undefined
  /** Turns in a row that failed. */
  #failures = 0
  #hasFailed = false
  #said: string | undefined
  /** Names of work under way, and whether it was asked for again. */
  readonly #alone = new Map<string, boolean>()

  constructor(options: LoopOptions) {
    this.#options = options
  }

  /** Ends with the loop. */
  get signal(): AbortSignal {
    return this.#lifetime.signal
  }

  start(): void {
    this.#running = this.#run()
  }

  /** One turn now, and all that it began; for whoever drives a loop by hand. */
  async once(): Promise<void> {
    await this.#turn()
    while (this.#tasks.size > 0) await Promise.all(this.#tasks)
  }

  /** Ends after the turn under way, and after everything that turns began. */
  async stop(): Promise<void> {
    this.#lifetime.abort()
    this.#options.waker.wake()
    await this.#running
    await Promise.all(this.#tasks)
  }

  /** Follows work that a turn began and does not wait for; the next turn comes when it ends. */
  follow(work: Promise<void>): void {
    this.#follow(work, () => true)
  }

  /**
   * Follows work that is done once at a time under its name, however long it takes. The next turn comes when it ends only
   * where it failed, or was asked for again meanwhile.
   */
  followAlone(name: string, work: () => Promise<void>): void {
    if (this.#alone.has(name)) return void this.#alone.set(name, true)
    this.#alone.set(name, false)
    this.#follow(work(), hasFailed => {
      const isAskedAgain = this.#alone.get(name) === true
      this.#alone.delete(name)
      return hasFailed || isAskedAgain
    })
  }

  #follow(work: Promise<void>, isTurnNext: (hasFailed: boolean) => boolean): void {
    const task = work
      .then(() => {
        // another one that still works may be the one that fails
        if (this.#tasks.size === 1) this.#succeed()
        return false
      })
      .catch((error: unknown) => {
        if (!this.#lifetime.signal.aborted) this.#fail(error)
        return true
      })
      .then(hasFailed => {
        this.#tasks.delete(task)
        if (isTurnNext(hasFailed)) this.#options.waker.wake()
      })
    this.#tasks.add(task)
  }

  async #run(): Promise<void> {
    const { signal } = this.#lifetime
    while (!signal.aborted) {
      const pauseMs = await this.#turn()
      if (!this.#hasFailed && !signal.aborted) await this.#options.waker.sleep(pauseMs)
      // never cut short: whatever wakes a loop would make a failing one spin
      if (this.#hasFailed) await this.#options.waker.rest(this.#restMs(), signal)
    }
  }

  async #turn(): Promise<number> {
    const { mayRun, turn } = this.#options
    this.#hasFailed = false
    // this turn sees whatever woke it, or was there before it
    this.#options.waker.forget()
    try {
      if (mayRun?.() === false) return IDLE_MS
      const pauseMs = await turn(this.#lifetime.signal)
      if (this.#tasks.size === 0 && !this.#hasFailed) this.#succeed()
      return pauseMs
    } catch (error) {
      if (!this.#lifetime.signal.aborted) this.#fail(error)
      return IDLE_MS
    }
  }

  #restMs(): number {
    const { restFirstMs, restMaxMs = REST_MAX_MS } = this.#options
    return Math.min(restFirstMs * 2 ** (this.#failures - 1), restMaxMs)
  }

  #fail(error: unknown): void {
    if (!this.#hasFailed) this.#failures += 1
    this.#hasFailed = true
    const words = wordsOf(error)
    if (words === this.#said) return
    this.#said = words
    this.#options.log.error({ err: error, loop: this.#options.name }, 'a turn failed; it is tried again')
  }

  #succeed(): void {
    if (this.#failures > 0 && !this.#hasFailed) {
      this.#options.log.info({ loop: this.#options.name, failed: this.#failures }, 'the turns succeed again')
      this.#failures = 0
      this.#said = undefined
    }
  }
}
