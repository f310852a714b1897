/** The hubs that the store knows, as clients. */
import type { HubClient, HubInputs } from '../hubs/hub.ts'
import type { HubDoors } from '../hubs/open.ts'
import { homeRow, hubRow, leftRows, previousRows } from '../store/hubs.ts'
import type { Store } from '../store/open.ts'

export class KnownHubs {
  readonly #store: Store
  readonly #doors: HubDoors
  readonly #inputs: HubInputs

  constructor(store: Store, doors: HubDoors, inputs: HubInputs) {
    this.#store = store
    this.#doors = doors
    this.#inputs = inputs
  }

  home(): HubClient | undefined {
    const row = homeRow(this.#store)
    return row && this.#doors.open(row, this.#inputs)
  }

  /** Homes of before, whose mailboxes are emptied until a time after this one. */
  previous(since: number): HubClient[] {
    return previousRows(this.#store, since).map(row => this.#doors.open(row, this.#inputs))
  }

  /** Hubs that were left. */
  left(): HubClient[] {
    return leftRows(this.#store).map(row => this.#doors.open(row, this.#inputs))
  }

  /** The hub at an address, which is asked who it is where the store does not know it. */
  async at(url: string): Promise<HubClient> {
    const row = hubRow(this.#store, url)
    return row === undefined ? this.meet(url) : this.#doors.open(row, this.#inputs)
  }

  /** `wire`: the one that is meant, where that was said; a hub that is known is met in its own. */
  meet(url: string, wire?: number): Promise<HubClient> {
    return this.#doors.meet(url, this.#inputs, wire ?? hubRow(this.#store, url)?.wire)
  }
}
