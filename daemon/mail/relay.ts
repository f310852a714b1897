/** Collecting mail: a held poll without end, and what it shows of the hub and of another node with this identity. */

import { present } from '../../protocol/encoding/present.ts'
import type { Carriers, Collected, Taker } from '../carrier/carrier.ts'
import { hasTakenOver, noteTwin } from '../chain/place.ts'
import type { CurrentHub } from '../hubs/current.ts'
import { describe, isOwnFailure } from '../hubs/failures.ts'
import { type HubClient, HubStopped } from '../hubs/hub.ts'
import { isKeptOut } from '../hubs/kept-out.ts'
import type { Identity } from '../identity/identity.ts'
import { Loop } from '../platform/loop.ts'
import type { Machine } from '../platform/machine.ts'
import type { Timings } from '../platform/timings.ts'
import type { Wakers } from '../platform/waker.ts'
import type { Store } from '../store/open.ts'
import { doubtAtHub } from '../store/outbox.ts'
import { TwinWatch } from './twin-watch.ts'

/** A hub that hangs is noticed when it has not answered by then: with the slack of a poll within 30 s. */
export const WAIT_MS = 25_000
/** No pause between two polls is as long as a copy of this identity has to wait in peace, whatever the hub does. */
const PAUSE_SHARE = 0.8
const IDLE_MS = 60_000
/** Pause between polls while another node of this identity takes them over: shorter than it has to wait in peace. */
const TWIN_PAUSE_SHARE = 0.5
const CAME_SECOND =
  'this identity already runs on another machine, so this node signs nothing any more; stop one of the two, then start the other one anew'

type RelayParts = {
  hub: CurrentHub
  identity: Identity
  store: Store
  carriers: Carriers
  taker: Taker
  wakers: Wakers
}

export class Relay {
  readonly #parts: RelayParts
  readonly #machine: Machine
  readonly #timings: Timings
  readonly #loop: Loop
  readonly #twins: TwinWatch
  /** Polls in a row that the hub did not answer as it should. */
  #unanswered = 0

  constructor(parts: RelayParts, machine: Machine, timings: Timings) {
    const { hub, store, wakers } = parts
    this.#parts = parts
    this.#machine = machine
    this.#timings = timings
    this.#twins = new TwinWatch(timings.pollSettledMs, hasTakenOver(store))
    this.#loop = new Loop({
      name: 'relay',
      waker: wakers.relay,
      log: machine.log,
      restFirstMs: timings.backoffFirstMs,
      mayRun: () => hub.home !== undefined && hub.home.stopped === undefined,
      turn: () => this.#turn(),
    })
  }

  start(): void {
    this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  async #turn(): Promise<number> {
    const hub = this.#parts.hub.home
    if (hub === undefined) return IDLE_MS
    try {
      const pauseMs = await this.#watched(hub)
      this.#unanswered = 0
      this.#noteContact(undefined)
      return pauseMs
    } catch (error) {
      // what this machine could not keep is collected again; the hub did what it should
      if (isOwnFailure(error) || this.#loop.signal.aborted) throw error
      return await this.#noteUnanswered(hub, error)
    }
  }

  async #noteUnanswered(hub: HubClient, error: unknown): Promise<number> {
    this.#unanswered += 1
    this.#noteContact(describe(error), await isKeptOut(error, hub, this.#parts.identity.log))
    if (!(error instanceof HubStopped)) this.#machine.log.debug({ reason: describe(error) }, 'poll failed')
    const { backoffFirstMs, pollSettledMs } = this.#timings
    const backoff = Math.min(backoffFirstMs * 2 ** (this.#unanswered - 1), pollSettledMs * PAUSE_SHARE)
    return backoff * (0.5 + this.#fraction() * 0.5)
  }

  /** Whatever the hub has become: a round finds out, and repeats until it is there again. */
  #noteContact(error: string | undefined, keptOut = false): void {
    if (!this.#parts.hub.noteContact(error, keptOut)) return
    // it may come back from a backup
    const { store, wakers } = this.#parts
    store.attempt(() => doubtAtHub(store, this.#machine.now(), null))
    wakers.rounds.wake()
  }

  /** After a poll that a busy hub answered at once instead of holding it. */
  #unheldPauseMs(): number {
    return this.#timings.pollSettledMs * PAUSE_SHARE * (0.5 + this.#fraction() / 2)
  }

  #fraction(): number {
    return (this.#machine.random(1)[0] as number) / 255
  }

  /** One drain, and what it shows of another node with this identity; when the next one is due. */
  async #watched(hub: HubClient): Promise<number> {
    const { hub: current, store, wakers } = this.#parts
    // Whether the hub answers is known at once, not after the poll that it holds.
    if (current.state.state !== 'online') {
      await this.drain(hub, 0)
      this.#noteContact(undefined)
    }
    const started = this.#machine.now()
    const { taken, held, others } = await this.drain(hub, WAIT_MS)
    if (!held && taken === 0) return this.#unheldPauseMs()
    const verdict = this.#twins.note({
      askedMs: WAIT_MS,
      heldMs: this.#machine.now() - started,
      mail: taken > 0 || !held,
      ...present({ others }),
    })
    if (verdict === 'came_second') {
      this.#machine.log.error({ reason: CAME_SECOND }, 'stopped talking to the hub, and signs no more')
      current.oldCopy = CAME_SECOND
      current.halt(hub, CAME_SECOND)
    }
    const twinSeen = verdict === 'was_first'
    // the other one may have taken over, which the hub then shows
    if (twinSeen && !current.twinSeen) wakers.rounds.wake()
    current.twinSeen = twinSeen
    if (twinSeen) noteTwin(store, this.#machine.now())
    return twinSeen && this.#twins.isSettled ? this.#timings.pollSettledMs * TWIN_PAUSE_SHARE : 0
  }

  /** Empties the mailbox: the hub may hold its first answer for `waitMs`. */
  drain(hub: HubClient, waitMs: number): Promise<Collected> {
    const { signal } = this.#loop
    const { carriers, taker } = this.#parts
    return carriers.over(hub).collect({ waitMs, signal }, taker)
  }
}
