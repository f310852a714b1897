/** The hub of the other side of a payment, where that is another one than that of this node. */
import type { CurrentHub } from '../hubs/current.ts'

/** What is known of agents: the home that their key history names. */
type KnownAgents = { find(aid: string): { log: { home?: string | undefined } } | undefined }

export class OtherHub {
  readonly #hub: CurrentHub
  readonly #peers: KnownAgents

  constructor(hub: CurrentHub, peers: KnownAgents) {
    this.#hub = hub
    this.#peers = peers
  }

  /** Its AID, as the key history of the agent names it; undefined where both are at one hub, or nothing is known of it. */
  of(agent: string): string | undefined {
    const { home } = this.#hub
    const other = this.#peers.find(agent)?.log.home
    return home === undefined || other === home.identity.aid ? undefined : other
  }
}
