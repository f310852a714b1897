/** Names that count once, within a minute; they stand in memory alone. */

export const ONCE_LIFE_MS = 60_000
/** More are not open at a time; the oldest gives way. */
const OPEN_MAX = 16

export class Once {
  #open = new Map<string, number>()
  readonly #now: () => number
  readonly #make: () => string

  constructor(now: () => number, make: () => string) {
    this.#now = now
    this.#make = make
  }

  issue(): { name: string; expiresAt: number } {
    const [oldest] = this.#open.keys()
    if (this.#open.size >= OPEN_MAX && oldest !== undefined) this.#open.delete(oldest)
    const [name, expiresAt] = [this.#make(), this.#now() + ONCE_LIFE_MS]
    this.#open.set(name, expiresAt)
    return { name, expiresAt }
  }

  protected open(): string[] {
    return [...this.#open.keys()]
  }

  /** Whether it was open; it never is again. */
  take(name: string): boolean {
    const expiresAt = this.#open.get(name)
    this.#open.delete(name)
    return expiresAt !== undefined && this.#now() < expiresAt
  }
}
