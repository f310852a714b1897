/**
 * Names under which the console is opened once each. Whoever takes the port of a node that is stopped can answer under
 * every name that a browser asks for then, and leave a program there that answers for the node for good; under a name
 * that nobody has asked for before there is none. Browsers look for whatever ends in `.localhost` on their own machine.
 */
import { toHex } from '../../protocol/encoding/bytes.ts'
import { Once } from './once.ts'

const RANDOM_BYTES = 10
const SHOWN_MAX = 64
const NAME = /^svc-[0-9a-f]{20}\.localhost$/

export const isFreshHost = (name: string): boolean => NAME.test(name)

export class FreshHosts extends Once {
  /** Names under which this process has shown the page: nobody else can have answered there since it began. */
  #shown = new Set<string>()

  constructor(now: () => number, random: (length: number) => Uint8Array) {
    super(now, () => `svc-${toHex(random(RANDOM_BYTES))}.localhost`)
  }

  override take(name: string): boolean {
    const isFresh = super.take(name)
    const [oldest] = this.#shown
    if (isFresh && this.#shown.size >= SHOWN_MAX && oldest !== undefined) this.#shown.delete(oldest)
    if (isFresh) this.#shown.add(name)
    return isFresh
  }

  /** Whether the page may be shown there again, as where it is loaded anew. */
  isShown(name: string): boolean {
    return this.#shown.has(name)
  }
}
