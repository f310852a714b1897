/**
 * Tasks of visitors that went without a word after they were answered. The hub tells of each visit that is over, unless it
 * crashed; asked for the end of one that it does not know, it says so, and the task is over.
 */
import type { CurrentHub } from '../hubs/current.ts'
import { answeredSilence } from '../store/interactions.ts'
import type { Store } from '../store/open.ts'
import type { Threads } from '../store/threads.ts'
import type { Endings } from './endings.ts'
import { guestHub } from './guests.ts'

/** Far longer than a hub keeps a visit that nobody looks at. */
const SILENT_MS = 24 * 3_600_000
const ROUND_MAX = 100

type SilentParts = { store: Store; threads: Threads; hub: CurrentHub; endings: Endings }

export class SilentVisits {
  readonly #parts: SilentParts
  readonly #now: () => number

  constructor(parts: SilentParts, now: () => number) {
    this.#parts = parts
    this.#now = now
  }

  /** Asks for the end of each. */
  end(): void {
    const { store, threads, hub, endings } = this.#parts
    const peer = guestHub(hub)
    if (peer === undefined || hub.oldCopy !== undefined) return
    const silent = { peer, beforeMs: this.#now() - SILENT_MS, max: ROUND_MAX }
    for (const key of answeredSilence(store, silent))
      store.transaction(() => endings.propose(threads.byKey(key)), 'node.visit-end')
  }
}
