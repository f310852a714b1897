/** What a hub publishes and cannot be true: said once it is found, and nothing more is paid there. */
import type { Logger } from 'pino'
import type { Events } from '../platform/events.ts'
import { raiseAlarm } from '../store/hub-accounts.ts'
import type { Store } from '../store/open.ts'

export class Alarms {
  readonly #store: Store
  readonly #events: Events
  readonly #log: Logger

  constructor(store: Store, events: Events, log: Logger) {
    this.#store = store
    this.#events = events
    this.#log = log
  }

  /** Runs inside a transaction. */
  raise(hub: string, fault: string): void {
    raiseAlarm(this.#store, hub, fault)
    this.#log.error({ hub, fault }, 'the hub publishes what cannot be true of its credits')
    this.#store.afterCommit(() => this.#events.emit('hub'))
  }
}
