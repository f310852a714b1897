/** The hub that this node talks to now, and how it stands with it: set by membership and mail, read by everyone. */

import { present } from '../../protocol/encoding/present.ts'
import { isAhead } from '../../protocol/identity/kel-times.ts'
import type { Identity } from '../identity/identity.ts'
import type { Clock } from '../platform/clock.ts'
import type { Events } from '../platform/events.ts'
import { datedAhead, hubTime } from './clocks.ts'
import type { HubClient } from './hub.ts'
import { sayKeptOut } from './kept-out.ts'

export type HubState = {
  state: 'online' | 'offline' | 'stopped' | 'registering'
  reason?: string
  powProgress?: number
  /** Since when there is progress. */
  powBeganAt?: number
  /** The hub answers, and takes nothing from this identity. */
  keptOut?: true
}

export type Registering = { progress(share: number): void; end(refused: string | undefined): void }

export class CurrentHub {
  #identity: Identity
  #events: Events
  #clock: Clock
  #last: HubClient | undefined
  #isReached = false
  /** Why the last call failed, and why the hub did not register this node. */
  #lost: string | undefined
  #refused: string | undefined
  #registering: Pick<HubState, 'powProgress' | 'powBeganAt'> | undefined
  #isKeptOut = false
  /** Why this machine is an older copy of its identity, which signs nothing; undefined while it is not. */
  oldCopy: string | undefined
  /** Why this machine signs nothing until it knows whether it is one; undefined once it does. */
  unsettled: string | undefined
  /** Why nothing leaves this machine until the hub was asked whether this is one; undefined once it was. */
  unasked: string | undefined
  /** Whether the hub was asked since the start whether this is the newest copy of the identity. */
  isCompared = false
  /** The question of the start: nothing is signed before it is answered, or has taken too long. */
  comparing: Promise<void> | undefined
  /** Hubs that call the present key retired, and were not asked yet which one they hold. */
  readonly retiredAt = new Set<string>()
  /** Whether another node of this identity takes over the polls of this one. */
  twinSeen = false

  constructor(identity: Identity, events: Events, clock: Clock) {
    this.#identity = identity
    this.#events = events
    this.#clock = clock
  }

  /** The hub that this node talks to; undefined before it registered anywhere, and after its identity ended. */
  get home(): HubClient | undefined {
    return this.#identity.log.deactivated ? undefined : this.#last
  }

  /** The hub that this node is, or was at its end, registered at. */
  get last(): HubClient | undefined {
    return this.#last
  }

  /** The time as our hub sees it, or our own. */
  get timeMs(): number {
    return this.home === undefined ? this.#clock.now() : hubTime(this.home)
  }

  /** What is true now: a stop, a registration under way, else how the last call to the hub went. */
  get state(): HubState {
    const stopped = this.#last?.stopped
    if (stopped !== undefined) return { state: 'stopped', reason: stopped }
    if (this.#registering !== undefined) return { state: 'registering', ...this.#registering }
    const keptOut = this.#isKeptOut || undefined
    const reason = this.#sayAhead() ?? this.#sayKeptOut() ?? this.#lost ?? this.#refused
    return { state: this.#isReached ? 'online' : 'offline', ...present({ reason, keptOut }) }
  }

  /** Why the hub takes nothing for now: whatever else it says follows from that. */
  #sayAhead(): string | undefined {
    const { ts } = this.#identity.log
    const known = this.#last?.knownTimeMs
    return this.#last && known !== undefined && isAhead(ts, known)
      ? datedAhead(ts, this.#last).message
      : undefined
  }

  #sayKeptOut(): string | undefined {
    if (!this.#isKeptOut || this.#last === undefined) return undefined
    return sayKeptOut(this.#identity.aid, this.#last.url)
  }

  settleAt(hub: HubClient): void {
    this.#clock.follow(hub)
    this.#last = hub
  }

  leave(): void {
    this.#clock.follow(undefined)
    this.#last = undefined
    this.unasked = undefined
    this.#refused = undefined
    this.#lose(undefined)
  }

  /** A registration, until its end is noted; what it tells of its work after that is not heard. */
  beginRegistering(): Registering {
    const registering: Pick<HubState, 'powProgress' | 'powBeganAt'> = {}
    this.#registering = registering
    return {
      progress: share => {
        registering.powBeganAt ??= this.#clock.now()
        registering.powProgress = share
      },
      end: refused => {
        if (this.#registering === registering) this.#registering = undefined
        this.#refused = refused
        if (refused === undefined) this.noteContact(undefined)
      },
    }
  }

  /** Notes what keeps this node from being registered as it should be. */
  noteRefused(reason: string): void {
    this.#refused = reason
  }

  /** Talks to a hub no longer, and tells everyone who listens. */
  halt(hub: HubClient, why: string): void {
    hub.halt(why)
    this.#events.emit('hub', { state: 'stopped' })
  }

  /** Notes how the last call to the hub went; true when contact was just lost. */
  noteContact(error: string | undefined, isKeptOut = false): boolean {
    const before = this.#isReached
    this.#isKeptOut = isKeptOut
    if (error !== undefined) this.#lose(error)
    else if (!before) {
      this.#isReached = true
      // A hub that answers again after it refused, as one does that unblocked this node, refuses no longer.
      if (this.#lost !== undefined) this.#refused = undefined
      this.#lost = undefined
      this.#events.emit('hub', { state: 'online' })
    }
    return before && error !== undefined
  }

  #lose(why: string | undefined): void {
    if (this.#isReached) this.#events.emit('hub', { state: 'offline' })
    this.#isReached = false
    this.#lost = why
  }
}
