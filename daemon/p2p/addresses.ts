/** Direct addresses of others, as the hub listed them last; while it does not answer the last word counts. */
import { isDirectAddress } from '../../protocol/contract/direct-address.ts'
import type { Timers } from '../../protocol/timers.ts'
import type { HubClient } from '../hubs/hub.ts'

const ASKED_MS = 5_000
/** How long the word of a hub counts. */
const KNOWN_MS = 10 * 60_000
/** How long an address is left in peace that did not take a letter. */
const REST_MS = 60_000
const KEPT_MAX = 1000

type Known = { address: string | undefined; askAt: number; restsUntil: number }

export class PeerAddresses {
  readonly #timers: Timers
  readonly #known = new Map<string, Known>()

  constructor(timers: Timers) {
    this.#timers = timers
  }

  /** Undefined where an agent lists none, or where its address rests. */
  async of(hub: HubClient, aid: string): Promise<string | undefined> {
    const now = this.#timers.monotonic()
    const known = this.#known.get(aid)
    if (known !== undefined && now < known.restsUntil) return undefined
    if (known !== undefined && now < known.askAt) return known.address
    const address = await this.#asked(hub, aid, known?.address)
    this.#keep(aid, { address, askAt: this.#timers.monotonic() + KNOWN_MS, restsUntil: 0 })
    return address
  }

  /** Somebody at this address did not take a letter: the hub is asked again, after a rest. */
  rest(aid: string): void {
    const known = this.#known.get(aid)
    if (known !== undefined)
      this.#keep(aid, { ...known, askAt: 0, restsUntil: this.#timers.monotonic() + REST_MS })
  }

  async #asked(hub: HubClient, aid: string, last: string | undefined): Promise<string | undefined> {
    try {
      const address = await hub.direct?.addressOf(aid, this.#timers.deadline(ASKED_MS))
      return address !== undefined && isDirectAddress(address) ? address : undefined
    } catch {
      return last
    }
  }

  #keep(aid: string, known: Known): void {
    this.#known.delete(aid)
    this.#known.set(aid, known)
    const [oldest] = this.#known.keys()
    if (this.#known.size > KEPT_MAX && oldest !== undefined) this.#known.delete(oldest)
  }
}
