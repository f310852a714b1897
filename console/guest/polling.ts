/** Asking again and again: soon after something happened, ever less often while nothing does, and never unseen. */

const SOON_MS = 1000
const SLOWEST_MS = 15_000
const SLOWEST_FAILING_MS = 30_000
const GROWTH = 1.5

/** What a turn found: news, nothing, no answer, or that there is nothing more to ask. */
export type Found = 'news' | 'nothing' | 'failed' | 'over'

export class Polling {
  readonly #ask: () => Promise<Found>
  readonly #waits: (seconds: number) => void
  #timer: ReturnType<typeof setTimeout> | undefined
  #waitMs = SOON_MS
  #isAsking = false
  #isOn = false

  /** `waits` is told after how many seconds a hub is asked again that did not answer. */
  constructor(ask: () => Promise<Found>, waits: (seconds: number) => void) {
    this.#ask = ask
    this.#waits = waits
    document.addEventListener('visibilitychange', () => this.#look())
    addEventListener('online', () => this.#look())
  }

  /** Something was said: the answer may come soon. */
  wake(): void {
    this.#isOn = true
    this.#waitMs = SOON_MS
    this.#plan()
  }

  stop(): void {
    this.#isOn = false
    clearTimeout(this.#timer)
  }

  /** Whoever looks at the page again sees at once what came. */
  #look(): void {
    clearTimeout(this.#timer)
    if (!this.#isOn || document.hidden) return
    this.#waitMs = SOON_MS
    void this.#turn()
  }

  #plan(): void {
    clearTimeout(this.#timer)
    if (this.#isOn && !document.hidden) this.#timer = setTimeout(() => void this.#turn(), this.#waitMs)
  }

  async #turn(): Promise<void> {
    if (this.#isAsking) return
    this.#isAsking = true
    const found = await this.#ask().finally(() => {
      this.#isAsking = false
    })
    if (found === 'over') return this.stop()
    const slowest = found === 'failed' ? SLOWEST_FAILING_MS : SLOWEST_MS
    this.#waitMs = found === 'news' ? SOON_MS : Math.min(this.#waitMs * GROWTH, slowest)
    if (found === 'failed') this.#waits(Math.round(this.#waitMs / 1000))
    this.#plan()
  }
}
