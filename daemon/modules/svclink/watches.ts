/**
 * Subscriptions of callers. One to a capability is shared by all who ask for it, and kept for a while after the last of
 * them, so that nothing of what happens between two calls is missed: the newest reading counts, with its number.
 */
import type { Timer, Timers } from '../../../protocol/timers.ts'
import { type CallOutcome, failed, unavailable } from '../provider.ts'
import type { Adapter, Asked } from './devices.ts'
import { SEQUENCE } from './frames.ts'
import { limits } from './limits.ts'
import { OFFLINE, readingOutcome, type Subject } from './reading.ts'

const SECOND_MS = 1_000

type Watch = {
  adapter: Adapter
  sequence: number
  last: CallOutcome | undefined
  waiting: Set<(outcome: CallOutcome) => void>
  end: () => void
  idle: Timer | undefined
}

/** How long to wait for a reading that is not the one with this number. */
export type Patience = { after: number | undefined; waitS: number; signal: AbortSignal }

type Source = {
  adapter: Adapter
  /** As the device is described now; undefined where it has no such capability any more. */
  subject: () => Subject | undefined
}

export class Watches {
  readonly #timers: Timers
  readonly #watches = new Map<string, Watch>()
  /** Goes on over the ends of subscriptions, so that no number stands for two readings. */
  #sequence = 0

  constructor(timers: Timers) {
    this.#timers = timers
  }

  /** The newest reading that has another number than `after`, as soon as there is one. */
  async next(asked: Asked, { adapter, subject }: Source, patience: Patience): Promise<CallOutcome> {
    const key = `${asked.device}/${asked.capability}`
    const watch = this.#open(key, asked, { adapter, subject })
    if (watch === undefined) return unavailable(`there are ${limits.watches.value} subscriptions already`)
    if (watch.last !== undefined && watch.sequence !== patience.after) return watch.last
    this.#timers.clear(watch.idle)
    try {
      return await this.#wait(watch, patience)
    } finally {
      if (watch.waiting.size === 0) this.#rest(key, watch)
    }
  }

  async #wait({ waiting }: Watch, { waitS, signal }: Patience): Promise<CallOutcome> {
    const { promise, resolve } = Promise.withResolvers<CallOutcome>()
    const nothing = () => resolve({ status: 'OK', message: `nothing new within ${waitS} s` })
    const timer = this.#timers.after(waitS * SECOND_MS, nothing)
    signal.addEventListener('abort', nothing, { once: true })
    waiting.add(resolve)
    try {
      return await promise
    } finally {
      waiting.delete(resolve)
      this.#timers.clear(timer)
      signal.removeEventListener('abort', nothing)
    }
  }

  #open(key: string, asked: Asked, { adapter, subject }: Source): Watch | undefined {
    const before = this.#watches.get(key)
    if (before?.adapter === adapter) return before
    if (before === undefined && this.#watches.size >= limits.watches.value) return undefined
    before?.end()
    const watch: Watch = {
      ...{ adapter, sequence: this.#sequence, last: undefined, waiting: new Set() },
      ...{ end: () => {}, idle: undefined },
    }
    const end = adapter.subscribe(asked, {
      news: reading => {
        const found = subject()
        if (found === undefined) return
        this.#sequence += 1
        watch.sequence = this.#sequence
        const outcome = readingOutcome(found, reading)
        watch.last = { ...outcome, metrics: { ...outcome.metrics, [SEQUENCE]: watch.sequence } }
        for (const tell of [...watch.waiting]) tell(watch.last)
      },
      ended: message => {
        this.#drop(key, watch)
        const outcome = message === OFFLINE ? unavailable(message) : failed(message)
        for (const tell of [...watch.waiting]) tell(outcome)
      },
    })
    if (end === undefined) return undefined
    watch.end = () => {
      this.#drop(key, watch)
      end()
    }
    this.#watches.set(key, watch)
    this.#rest(key, watch)
    return watch
  }

  /** Ends it when nobody has asked for a while. */
  #rest(key: string, watch: Watch): void {
    this.#timers.clear(watch.idle)
    if (this.#watches.get(key) !== watch) return
    watch.idle = this.#timers.after(limits.watchIdleMs.value, () => watch.end()).unref()
  }

  #drop(key: string, watch: Watch): void {
    this.#timers.clear(watch.idle)
    if (this.#watches.get(key) === watch) this.#watches.delete(key)
  }
}
