/** Hubs that have to hear of key events beside the home, or in its place once the identity has ended. */
import type { Logger } from 'pino'
import { Refused } from '../../protocol/contract/client.ts'
import { describe } from '../hubs/failures.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { Identity } from '../identity/identity.ts'
import { hubRow, noteRegistered } from '../store/hubs.ts'
import type { Store } from '../store/open.ts'

export class PushedLog {
  readonly #identity: Identity
  readonly #store: Store
  readonly #log: Logger

  constructor(identity: Identity, store: Store, log: Logger) {
    this.#identity = identity
    this.#store = store
    this.#log = log
  }

  /** Whether a hub has seen the last event. */
  isTold(hub: HubClient): boolean {
    return hubRow(this.#store, hub.url)?.registeredSeq === this.#identity.log.seq
  }

  /** A hub has seen the last event. */
  noteTold(hub: HubClient): void {
    noteRegistered(this.#store, hub.url, this.#identity.log.seq)
  }

  /** Shows a hub the whole log, unless it has seen its last event; one that never knew the identity needs nothing. */
  async to(hub: HubClient): Promise<void> {
    const { log } = this.#identity
    const row = hubRow(this.#store, hub.url)
    if (row === undefined || row.registeredSeq === log.seq) return
    try {
      await hub.pushLog(log)
    } catch (error) {
      if (!(error instanceof Refused && error.code === 'unknown_aid')) throw error
    }
    noteRegistered(this.#store, hub.url, log.seq)
  }

  /** Tells every one of these hubs what it has not seen; one that cannot be reached is told another time. */
  async toAll(hubs: readonly HubClient[]): Promise<void> {
    const tell = (hub: HubClient) =>
      this.to(hub).catch(error => this.#log.info({ reason: describe(error) }, 'previous hub not told'))
    await Promise.all(hubs.map(tell))
  }
}
