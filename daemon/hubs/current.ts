/** The hub that this node talks to now, and how it stands with it: set by membership and mail, read by everyone. */
import type { Identity } from '../identity/identity.ts'
import type { Clock } from '../platform/clock.ts'
import type { Events } from '../platform/events.ts'
import type { HubClient } from './hub.ts'

export type HubState = {
  state: 'online' | 'offline' | 'stopped' | 'registering'
  reason?: string
  powProgress?: number
}

export class CurrentHub {
  #identity: Identity
  #events: Events
  #clock: Clock
  #last: HubClient | undefined
  #state: HubState = { state: 'offline' }
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

  get state(): HubState {
    const stopped = this.#last?.stopped
    return stopped === undefined ? this.#state : { state: 'stopped', reason: stopped }
  }

  settleAt(hub: HubClient): void {
    this.#clock.follow(hub)
    this.#last = hub
  }

  leave(): void {
    this.#clock.follow(undefined)
    this.#last = undefined
    this.#state = { state: 'offline' }
  }

  /** Notes a state that membership brought about. */
  note(state: HubState): void {
    const before = this.#state.state
    this.#state = state
    if (before !== state.state && state.state !== 'registering')
      this.#events.emit('hub', { state: state.state })
  }

  /** Talks to a hub no longer, and tells everyone who listens. */
  halt(hub: HubClient, why: string): void {
    hub.halt(why)
    this.#events.emit('hub', { state: 'stopped' })
  }

  /** Notes how the last call to the hub went; true when contact was just lost. */
  noteContact(error: string | undefined): boolean {
    const before = this.#state.state
    if (before === 'registering') return false
    this.note(error === undefined ? { state: 'online' } : { state: 'offline', reason: error })
    return before === 'online' && error !== undefined
  }
}
