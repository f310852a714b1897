/** Tickets to the console: each opens it once, within a minute; they stand in memory alone. */
import { toBase64url } from '../../protocol/encoding/bytes.ts'

export const TICKET_LIFE_MS = 60_000
const TICKET_BYTES = 24
/** More are not open at a time; the oldest gives way. */
const OPEN_MAX = 16

export class Tickets {
  #open = new Map<string, number>()
  readonly #now: () => number
  readonly #random: (length: number) => Uint8Array

  constructor(now: () => number, random: (length: number) => Uint8Array) {
    this.#now = now
    this.#random = random
  }

  issue(): { ticket: string; expiresAt: number } {
    const [oldest] = this.#open.keys()
    if (this.#open.size >= OPEN_MAX && oldest !== undefined) this.#open.delete(oldest)
    const [ticket, expiresAt] = [toBase64url(this.#random(TICKET_BYTES)), this.#now() + TICKET_LIFE_MS]
    this.#open.set(ticket, expiresAt)
    return { ticket, expiresAt }
  }

  /** Whether it was open; it never is again. A ticket has 192 bits, so that no look-up helps who guesses. */
  take(ticket: string): boolean {
    const expiresAt = this.#open.get(ticket)
    this.#open.delete(ticket)
    return expiresAt !== undefined && this.#now() < expiresAt
  }
}
