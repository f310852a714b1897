/** Bytes of an adapter to its lines, which are bounded in length, time and number. */
import { concat } from '../../../protocol/encoding/bytes.ts'
import type { Timer, Timers } from '../../../protocol/timers.ts'
import { limits } from './limits.ts'

const LINE_FEED = 10
const SECOND_MS = 1_000

type Ends = {
  timers: Timers
  line: (bytes: Uint8Array) => void
  /** Nothing is read any more once this was called. */
  fault: (words: string) => void
}

export class Lines {
  readonly #ends: Ends
  #parts: Uint8Array[] = []
  #size = 0
  #late: Timer | undefined
  #tokens: number = limits.burst.value
  #countedMs: number
  #isOver = false

  constructor(ends: Ends) {
    this.#ends = ends
    this.#countedMs = ends.timers.monotonic()
  }

  take(chunk: Uint8Array): void {
    let from = 0
    while (!this.#isOver) {
      const end = chunk.indexOf(LINE_FEED, from)
      const part = chunk.subarray(from, end < 0 ? undefined : end)
      if (this.#size + part.length >= limits.lineBytes.value)
        return void this.#refuse(`a line has more than ${limits.lineBytes.value} bytes`)
      if (part.length > 0) this.#add(part)
      if (end < 0) return
      this.#finish()
      from = end + 1
    }
  }

  /** Nothing more comes. */
  close(): void {
    this.#isOver = true
    this.#parts = []
    this.#ends.timers.clear(this.#late)
  }

  #add(part: Uint8Array): void {
    const { timers } = this.#ends
    this.#parts.push(part)
    this.#size += part.length
    const words = `a line did not end within ${limits.lineMs.value / SECOND_MS} s`
    this.#late ??= timers.after(limits.lineMs.value, () => this.#refuse(words))
  }

  #finish(): void {
    const line = this.#parts.length === 1 ? (this.#parts[0] as Uint8Array) : concat(...this.#parts)
    this.#ends.timers.clear(this.#late)
    this.#late = undefined
    this.#parts = []
    this.#size = 0
    if (this.#isTooMany()) this.#refuse(`more than ${limits.linesPerSecond.value} lines a second`)
    else if (line.length > 0) this.#ends.line(line)
  }

  #isTooMany(): boolean {
    const now = this.#ends.timers.monotonic()
    const earned = ((now - this.#countedMs) * limits.linesPerSecond.value) / SECOND_MS
    this.#tokens = Math.min(limits.burst.value, this.#tokens + earned) - 1
    this.#countedMs = now
    return this.#tokens < 0
  }

  #refuse(words: string): void {
    this.close()
    this.#ends.fault(words)
  }
}
