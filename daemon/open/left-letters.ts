/**
 * Letters under a key that is not known yet: they are left at the hub for a while and read again. Attacker: anybody, who sends
 * letters under keys that never come.
 */
import type { PolledLetter } from '../hubs/open-mail.ts'

/** After its sender handed it in. */
const LEFT_MS = 10 * 60_000
const READ_EVERY_MS = 15_000
/** A poll gives 100 letters, and each poll brings these again. */
const LETTERS_MAX = 32
const BYTES_MAX = 8 * 1024 * 1024

type Left = { bytes: number; untilMs: number; readMs: number }

export class LeftLetters {
  /** The time of the hub. */
  readonly #now: () => number
  readonly #left = new Map<string, Left>()

  constructor(now: () => number) {
    this.#now = now
  }

  /** Those of a poll that are read now. */
  due(polled: readonly PolledLetter[]): PolledLetter[] {
    const ids = new Set(polled.map(({ id }) => id))
    for (const id of this.#left.keys()) if (!ids.has(id)) this.#left.delete(id)
    return polled.filter(({ id }) => this.#isDue(this.#left.get(id)))
  }

  /** A clock that was set back puts nothing off. */
  #isDue(left: Left | undefined): boolean {
    const nowMs = this.#now()
    return (
      left === undefined ||
      nowMs < left.readMs ||
      nowMs >= Math.min(left.untilMs, left.readMs + READ_EVERY_MS)
    )
  }

  /** Whether it stays at the hub; `first`: it did not before. */
  leave({ id, payload, createdAtMs }: PolledLetter): 'first' | 'again' | undefined {
    const nowMs = this.#now()
    const held = this.#left.get(id)
    const bytes = payload?.length ?? 0
    const untilMs = held?.untilMs ?? LEFT_MS + Math.min(nowMs, createdAtMs)
    if (untilMs <= nowMs || (held === undefined && !this.#hasRoom(bytes))) {
      this.#left.delete(id)
      return undefined
    }
    this.#left.set(id, { bytes, untilMs, readMs: nowMs })
    return held === undefined ? 'first' : 'again'
  }

  #hasRoom(bytes: number): boolean {
    let sum = bytes
    for (const left of this.#left.values()) sum += left.bytes
    return this.#left.size < LETTERS_MAX && sum <= BYTES_MAX
  }
}
