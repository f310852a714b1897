/**
 * The way of a message out of this node: sent in the order of its interaction, watched until its delivery is proven, refused or past its deadline. Nothing is ever lost without a state that says so.
 */
import type { CurrentHub } from '../hubs/current.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { PeerBook } from '../peers/peers.ts'
import type { Events } from '../platform/events.ts'
import { Loop } from '../platform/loop.ts'
import type { Machine } from '../platform/machine.ts'
import type { Waker } from '../platform/waker.ts'
import type { Store } from '../store/open.ts'
import { DUE_MAX, dueEntries, nextEntryAt, type OutboxEntry } from '../store/outbox.ts'
import type { Attempts } from './attempts.ts'
import type { StatusQueries } from './status-queries.ts'

const LANES_MAX = 4
/** Other hubs to which something is on its way at a time; the own one hands one on at a time to each. */
const OTHER_HUBS_MAX = 8
/** Messages that are looked at for one that may leave now. */
const LOOKED_AT_MAX = 256
const IDLE_MS = 60_000
const BUSY_MS = 1000
/** Between two looks for a hub that can't be reached. */
const AWAY_MS_MAX = 10_000

type OutboxParts = {
  hub: CurrentHub
  store: Store
  peers: Pick<PeerBook, 'find'>
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
  /** What is under way, with the other hub to which it goes. */
  readonly #busyLanes = new Map<string, string | undefined>()
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
    if (this.#unreached === 0) this.#startStatusQueries(hub)
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
    for (const entry of this.#due()) {
      if (this.#unreached > 0 && this.#busyLanes.size > 0) return
      const lane = String(entry.interaction ?? `peer ${entry.peer}`)
      const other = this.#otherHub(hub, entry)
      if (this.#busyLanes.has(lane) || !this.#hasRoom(other)) continue
      this.#busyLanes.set(lane, other)
      const sent = this.#parts.attempts.make(hub, entry).then(({ reached }) => this.#noteReached(reached))
      this.#loop.follow(sent.finally(() => this.#busyLanes.delete(lane)))
    }
  }

  /** Everything for one hub that does not answer stands before what could leave. */
  *#due(): Generator<OutboxEntry> {
    for (let behind = 0; behind < LOOKED_AT_MAX; ) {
      const entries = dueEntries(this.#parts.store, this.#now(), behind)
      yield* entries
      if (entries.length < DUE_MAX || !this.#hasRoom(undefined)) return
      behind += entries.length
    }
  }

  /** The hub to which ours hands a message on, as far as that is known. */
  #otherHub(hub: HubClient, { peer }: OutboxEntry): string | undefined {
    const home = this.#parts.peers.find(peer)?.log.home
    return home === hub.identity.aid ? undefined : home
  }

  /** One hub that lets wait takes no lane of the others. */
  #hasRoom(other: string | undefined): boolean {
    const others = [...this.#busyLanes.values()].filter(hub => hub !== undefined)
    if (other === undefined) return this.#busyLanes.size - others.length < LANES_MAX
    return others.length < OTHER_HUBS_MAX && !others.includes(other)
  }

  #noteReached(reached: boolean | undefined): void {
    if (reached === undefined) return
    if (reached && this.#unreached > 0) this.#parts.waker.wake()
    this.#unreached = reached ? 0 : this.#unreached + 1
    this.#lookAgainAt = this.#now() + Math.min(this.#backoffFirstMs * 2 ** (this.#unreached - 1), AWAY_MS_MAX)
  }

  #startStatusQueries(hub: HubClient): void {
    const { queries } = this.#parts
    for (let asking = queries.askWhatIsDue(hub); asking !== undefined; asking = queries.askWhatIsDue(hub))
      this.#loop.follow(asking)
  }
}
