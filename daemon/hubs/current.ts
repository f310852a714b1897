/** The hub that this node talks to now, and how it stands with it: set by membership and mail, read by everyone. */

import { present } from '../../protocol/encoding/present.ts'
import type { Identity } from '../identity/identity.ts'
import type { Clock } from '../platform/clock.ts'
import type { Events } from '../platform/events.ts'
import type { HubClient } from './hub.ts'

export type HubState = {
  state: 'online' | 'offline' | 'stopped' | 'registering'
  reason?: string
  powProgress?: number
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
  #registering: { powProgress?: number } | undefined
  /** Why this machine is an older copy of its identity, which signs nothing; undefined while it is not. */
  oldCopy: string | undefined
  /** Whether the hub was asked since the start whether this is the newest copy of the identity. */
  isCompared = false
  /** The question of the start: nothing is signed before it is answered, or has taken too long. */
  comparing: Promise<void> | undefined
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
    return this.home?.timeMs ?? this.#clock.now()
  }

  /** What is true now: a stop, a registration under way, else how the last call to the hub went. */
  get state(): HubState {
    const stopped = this.#last?.stopped
    if (stopped !== undefined) return { state: 'stopped', reason: stopped }
    if (this.#registering !== undefined) return { state: 'registering', ...this.#registering }
    const reason = this.#lost ?? this.#refused
    return { state: this.#isReached ? 'online' : 'offline', ...present({ reason }) }
  }

  settleAt(hub: HubClient): void {
    this.#clock.follow(hub)
    this.#last = hub
  }

  leave(): void {
    this.#clock.follow(undefined)
    this.#last = undefined
    this.#refused = undefined
    this.#lose(undefined)
  }

  /** A registration, until its end is noted; what it tells of its work after that is not heard. */
  beginRegistering(): Registering {
    const registering: { powProgress?: number } = {}
    this.#registering = registering
    return {
      progress: share => {
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
  noteContact(error: string | undefined): boolean {
    const before = this.#isReached
    if (error !== undefined) this.#lose(error)
    else if (!before) {
      this.#isReached = true
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
