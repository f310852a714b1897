/**
 * The way of a message out of this node: sent in the order of its interaction, watched until its delivery is proven, refused or past its deadline. Nothing is ever lost without a state that says so.
 */
import type { CurrentHub } from '../hubs/current.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { Events } from '../platform/events.ts'
import { Loop } from '../platform/loop.ts'
import type { Machine } from '../platform/machine.ts'
import type { Waker } from '../platform/waker.ts'
import type { Store } from '../store/open.ts'
import { dueEntries, nextEntryAt } from '../store/outbox.ts'
import type { Attempts } from './attempts.ts'
import type { StatusQueries } from './status-queries.ts'

const LANES_MAX = 4
const IDLE_MS = 60_000
const BUSY_MS = 1000
/** Between two looks for a hub that can't be reached. */
const AWAY_MS_MAX = 10_000

type OutboxParts = {
  hub: CurrentHub
  store: Store
  events: Events
  attempts: Attempts
  queries: StatusQueries
  waker: Waker
}

export class Outbox {
  readonly #parts: OutboxParts
  readonly #now: () => number
  readonly #backoffFirstMs: number
  readonly #loop: Loop
  readonly #busyLanes = new Set<string>()
  #asking = false
  /** Attempts in a row that did not reach the hub, and when the next one may be made. */
  #unreached = 0
  #lookAgainAt = 0
  #stopListening = () => {}

  constructor(parts: OutboxParts, { now, log }: Machine, backoffFirstMs: number) {
    this.#parts = parts
    this.#now = now
    this.#backoffFirstMs = backoffFirstMs
    this.#loop = new Loop({
      name: 'outbox',
      waker: parts.waker,
      log,
      restFirstMs: backoffFirstMs,
      turn: () => this.#turn(),
    })
  }

  start(): void {
    this.#stopListening = this.#parts.events.listen(({ type, data }) => {
      if (type === 'hub' && data['state'] === 'online') this.#noteReached(true)
    })
    this.#loop.start()
  }

  async stop(): Promise<void> {
    this.#stopListening()
    await this.#loop.stop()
  }

  #turn(): number {
    const hub = this.#parts.hub.home
    if (hub === undefined || hub.stopped !== undefined) return IDLE_MS
    const waitMs = this.#unreached === 0 ? 0 : this.#lookAgainAt - this.#now()
    if (waitMs > 0) return Math.min(waitMs, AWAY_MS_MAX)
    this.#startSends(hub)
    if (this.#unreached === 0) this.#startStatusQuery(hub)
    return this.#pauseMs()
  }

  #pauseMs(): number {
    const at = nextEntryAt(this.#parts.store)
    if (at === undefined) return IDLE_MS
    // What is due but not taken waits for a lane; the end of that lane's task wakes us.
    const wait = at - this.#now()
    return wait <= 0 ? BUSY_MS : Math.min(wait, IDLE_MS)
  }

  /**
   * Starts the first queued message of every free lane: one lane an interaction, so its order is kept. While the hub
   * can't be reached one message at a time looks for it, and nothing else is sealed.
   */
  #startSends(hub: HubClient): void {
    const { store, attempts } = this.#parts
    const lanesMax = this.#unreached === 0 ? LANES_MAX : 1
    for (const entry of dueEntries(store, this.#now())) {
      const lane = String(entry.interaction ?? `peer ${entry.peer}`)
      if (this.#busyLanes.size >= lanesMax) return
      if (this.#busyLanes.has(lane)) continue
      this.#busyLanes.add(lane)
      const sent = attempts.make(hub, entry).then(({ reached }) => this.#noteReached(reached))
      this.#loop.follow(sent.finally(() => this.#busyLanes.delete(lane)))
    }
  }

  #noteReached(reached: boolean | undefined): void {
    if (reached === undefined) return
    if (reached && this.#unreached > 0) this.#parts.waker.wake()
    this.#unreached = reached ? 0 : this.#unreached + 1
    this.#lookAgainAt = this.#now() + Math.min(this.#backoffFirstMs * 2 ** (this.#unreached - 1), AWAY_MS_MAX)
  }

  /** Never two questions at a time. */
  #startStatusQuery(hub: HubClient): void {
    const asking = this.#asking ? undefined : this.#parts.queries.askWhatIsDue(hub)
    if (asking === undefined) return
    this.#asking = true
    this.#loop.follow(
      asking.finally(() => {
        this.#asking = false
      }),
    )
  }
}
