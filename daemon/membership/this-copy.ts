/** What this directory says of itself as a copy of its identity: where it lies, what it came from, who came before it. */
import { dueSet, noteSetPublished, noteSetRaised } from '../chain/accept.ts'
import { notePlace, noteSecond, sayMayBeTakenOver, twinSeenAt } from '../chain/place.ts'
import type { Store } from '../store/open.ts'
import { noteSettled, restoredAt } from '../store/restores.ts'

export class ThisCopy {
  readonly #dir: string
  readonly #store: Store
  readonly #now: () => number

  constructor(dir: string, store: Store, now: () => number) {
    this.#dir = dir
    this.#store = store
    this.#now = now
  }

  /** Why another node of this identity may have taken over; undefined where none was seen. */
  get mayBeTakenOver(): string | undefined {
    const seenMs = twinSeenAt(this.#store)
    return seenMs === undefined ? undefined : sayMayBeTakenOver(seenMs)
  }

  /** Whether a key set is due that other copies have not made, and whether it has to be raised first. */
  get dueSet() {
    return dueSet(this.#store)
  }

  noteSetRaised(): void {
    noteSetRaised(this.#store)
  }

  noteSetPublished(): void {
    noteSetPublished(this.#store)
  }

  /** This is the copy that goes on, here. */
  noteSettled(): void {
    const store = this.#store
    const madeAtMs = restoredAt(store)
    noteSetPublished(store)
    if (madeAtMs !== undefined) noteSettled(store, madeAtMs, this.#now())
    notePlace(store, this.#dir)
  }

  /** Another node of this identity was first; why this one stops. */
  comeSecond(): string {
    return noteSecond(this.#store, this.#dir, this.#now())
  }
}
