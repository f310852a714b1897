/**
 * Changes that a standby has to confirm. One that does not leaves each commit without an answer, and each holds a
 * connection of the server until there is one. So no more of them begin while any waits; what only reads goes on.
 */
import { sleep, type Timers } from '../../../protocol/timers.ts'
import { StoreAway } from '../port.ts'
import type { Connections } from './connections.ts'
import { OutcomeUnknown } from './faults.ts'
import type { WatchedConnections } from './watched.ts'

const LOOK_EVERY_MS = 1000
/** Those of this hub, whichever process began them. */
const WAITING =
  "SELECT count(*) AS waiting FROM pg_stat_activity WHERE wait_event = 'SyncRep'" +
  ' AND usename = current_user AND datname = current_database()'

export class ConfirmedChanges implements Pick<Connections, 'transaction'> {
  readonly #connections: WatchedConnections
  readonly #timers: Timers
  readonly #closed = new AbortController()
  #refused: StoreAway | undefined
  #looking: Promise<void> | undefined

  constructor(connections: WatchedConnections, timers: Timers) {
    this.#connections = connections
    this.#timers = timers
  }

  transaction: Connections['transaction'] = async (work, options) => {
    if (this.#refused !== undefined) throw this.#refused
    try {
      return await this.#connections.transaction(work, options)
    } catch (error) {
      if (error instanceof OutcomeUnknown)
        this.#looking ??= this.#look().finally(() => {
          this.#looking = undefined
        })
      throw error
    }
  }

  /** Nothing waits where the server does not answer. */
  async #look(): Promise<void> {
    const { signal } = this.#closed
    const isWaiting = async () => {
      const row = await this.#connections.one<{ waiting: number }>(WAITING).catch(() => undefined)
      return (row?.waiting ?? 0) > 0
    }
    while (!signal.aborted && (await isWaiting())) {
      this.#refused ??= new StoreAway('the database is away: its standby does not confirm what is written')
      this.#connections.holdAway(this.#refused)
      await sleep(this.#timers, LOOK_EVERY_MS, signal).catch(() => undefined)
    }
    this.#refused = undefined
    this.#connections.holdAway(undefined)
  }

  async close(): Promise<void> {
    this.#closed.abort()
    await this.#looking
  }
}
