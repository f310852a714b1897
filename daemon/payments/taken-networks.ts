/** In whose credits this node is paid: those of its own hub, and those of the payer's where its hub lets that one owe it. */
import { networkOf } from '../../protocol/proof/payment.ts'
import type { CurrentHub } from '../hubs/current.ts'
import { describe, isOwnFailure } from '../hubs/failures.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { Machine } from '../platform/machine.ts'
import type { OtherHub } from './other-hub.ts'

/** An operator may change it at any time: a payment that it takes no more is refused, and the price is told anew. */
const KNOWN_MS = 60_000
const ASK_MS = 10_000

type Parts = { hub: CurrentHub; otherHub: OtherHub; machine: Pick<Machine, 'log' | 'timers'> }
type Known = { hub: string; atMs: number; networks: readonly string[] }

export class TakenNetworks {
  readonly #parts: Parts
  readonly #now: () => number
  #known: Known | undefined

  constructor(parts: Parts, now: () => number) {
    this.#parts = parts
    this.#now = now
  }

  /**
   * The network of a price for a requester: that of what it offers, or of its home, where this node is paid in it.
   * Undefined while the own hub does not say whether it is.
   */
  async forPayer(payer: string, offered: string | undefined): Promise<string | undefined> {
    const { home } = this.#parts.hub
    if (home === undefined) return undefined
    const own = networkOf(home.identity.aid)
    const other = this.#parts.otherHub.of(payer)
    const wanted = offered ?? (other && networkOf(other))
    if (wanted === undefined || wanted === own) return own
    const taken = await this.#takenAt(home)
    return taken === undefined ? undefined : taken.includes(wanted) ? wanted : own
  }

  async #takenAt({ identity: { aid: hub }, credits }: HubClient): Promise<readonly string[] | undefined> {
    const { log, timers } = this.#parts.machine
    const known = this.#known
    if (known?.hub === hub && this.#now() - known.atMs < KNOWN_MS) return known.networks
    try {
      const networks = await credits.networks(timers.deadline(ASK_MS))
      this.#known = { hub, atMs: this.#now(), networks }
      return networks
    } catch (error) {
      if (isOwnFailure(error)) throw error
      log.info({ reason: describe(error) }, 'the hub did not say in whose credits it lets agents be paid')
      return undefined
    }
  }
}
