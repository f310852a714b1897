/**
 * Names under which the console is opened once each. Whoever takes the port of a node that is stopped can answer under
 * every name that a browser asks for then, and leave a program there that answers for the node for good; under a name
 * that nobody has asked for before there is none. Browsers look for whatever ends in `.localhost` on their own machine.
 */
import { TICKET_LIFE_MS } from './tickets.ts'

const RANDOM_BYTES = 10
/** More are not open at a time; the oldest gives way. */
const OPEN_MAX = 16
const NAME = /^svc-[0-9a-f]{20}\.localhost$/

export const isFreshHost = (name: string): boolean => NAME.test(name)

export class FreshHosts {
  #open = new Map<string, number>()
  readonly #now: () => number
  readonly #random: (length: number) => Uint8Array

  constructor(now: () => number, random: (length: number) => Uint8Array) {
    this.#now = now
    this.#random = random
  }

  issue(): string {
    const [oldest] = this.#open.keys()
    if (this.#open.size >= OPEN_MAX && oldest !== undefined) this.#open.delete(oldest)
    const name = `svc-${Buffer.from(this.#random(RANDOM_BYTES)).toString('hex')}.localhost`
    this.#open.set(name, this.#now() + TICKET_LIFE_MS)
    return name
  }

  /** Whether it was issued and nothing was asked under it yet; that is over then. */
  take(name: string): boolean {
    const expiresAt = this.#open.get(name)
    this.#open.delete(name)
    return expiresAt !== undefined && this.#now() < expiresAt
  }
}
