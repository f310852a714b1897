/**
 * Capabilities for correspondents that only ever write: when the stock of one runs low, or it had to write without a
 * capability, and no message to it waits that would bring new ones, a message of kind 8 goes out by itself (objects:
 * capability). Strangers whose task merely waits for approval get none.
 */

import { decode } from '../../protocol/encoding/cbor.ts'
import { encodePayload, kinds } from '../../protocol/mail/payload.ts'
import type { Timer } from '../../protocol/timers.ts'
import type { CurrentHub } from '../hubs/current.ts'
import type { DeliveryCapabilities } from '../peers/capabilities.ts'
import type { Contacts } from '../peers/contacts.ts'
import { mayHoldCapabilities } from '../peers/stock.ts'
import type { Machine } from '../platform/machine.ts'
import type { Timings } from '../platform/timings.ts'
import {
  capabilitiesUnderway,
  hasAskedForCapabilities,
  hasDelegatedTo,
  hasOpenTaskWith,
  peersOfOpenTasks,
} from '../store/correspondents.ts'
import type { Store } from '../store/open.ts'
import type { Threads } from '../store/threads.ts'
import { grantedList } from './message-bodies.ts'

/** A top-up of which nothing was used and nothing heard for this long no longer holds up the next one. */
const IN_FLIGHT_MAX_MS = 30_000
const CORRESPONDENTS_AT_START_MAX = 200
const AFTER_FAILURE_MS = 30_000
/** How often a peer is asked for capabilities at most. */
const ASKED_EVERY_MS = 3_600_000

type TopUpParts = {
  store: Store
  threads: Threads
  contacts: Contacts
  capabilities: DeliveryCapabilities
  hub: Pick<CurrentHub, 'last'>
}

export class TopUps {
  readonly #parts: TopUpParts
  readonly #machine: Machine
  readonly #timings: Timings
  #pauses = new Map<string, Timer>()
  #stopped = false

  constructor(parts: TopUpParts, machine: Machine, timings: Timings) {
    this.#parts = parts
    this.#machine = machine
    this.#timings = timings
  }

  /** Looks after everyone who may have been left without while this node was down. */
  start(): void {
    for (const peer of peersOfOpenTasks(this.#parts.store, CORRESPONDENTS_AT_START_MAX)) this.note(peer)
  }

  stop(): void {
    this.#stopped = true
    for (const pause of this.#pauses.values()) this.#machine.timers.clear(pause)
    this.#pauses.clear()
  }

  /** Something changed in what this peer holds of ours; a top-up follows after a short, jittered pause if needed. */
  note(peer: string): void {
    if (this.#stopped || this.#pauses.has(peer) || !this.#needs(peer)) return
    const { topUpPauseMs, topUpSpreadMs } = this.#timings
    const [share] = this.#machine.random(1)
    const pause = topUpPauseMs + (topUpSpreadMs * (share as number)) / 256
    this.#later(peer, pause)
  }

  /** What fails, as on a full disk, is tried again after a while. */
  #later(peer: string, pauseMs: number): void {
    const pause = this.#machine.timers.after(pauseMs, () => {
      try {
        this.#send(peer)
      } catch (error) {
        this.#machine.log.error({ err: error, peer }, 'no capabilities could be queued; it is tried again')
        this.#later(peer, AFTER_FAILURE_MS)
      }
    })
    pause.unref()
    this.#pauses.set(peer, pause)
  }

  /** This peer is let in again: it gets a new stock at once. */
  hurry(peer: string): void {
    this.#machine.timers.clear(this.#pauses.get(peer))
    this.#send(peer)
  }

  #send(peer: string): void {
    const { store, threads } = this.#parts
    this.#pauses.delete(peer)
    if (this.#stopped || !this.#needs(peer)) return
    const waiting = this.#onTheWay(peer)
    // What is queued brings a stock of its own; what is in flight is waited for.
    if (waiting === 'queued') return
    if (waiting === 'in_flight') this.note(peer)
    else store.transaction(() => queueCapabilities(threads, peer), 'node.top-up')
  }

  #needs(peer: string): boolean {
    const { capabilities, contacts, store, hub } = this.#parts
    // where mail is open, nobody needs to be let in
    if (hub.last !== undefined && hub.last.mail === undefined) return false
    if (!mayHoldCapabilities({ contacts, store }, peer) || !capabilities.isLow(peer)) return false
    return contacts.isContact(peer) || hasOpenTaskWith(store, peer)
  }

  #onTheWay(peer: string): 'queued' | 'in_flight' | undefined {
    const { store, capabilities } = this.#parts
    const rows = capabilitiesUnderway(store, peer, this.#machine.now() - IN_FLIGHT_MAX_MS)
    if (rows.some(row => row.state === 'queued')) return 'queued'
    const flying = rows.some(row => {
      if (row.granted === null) return true
      const granted = grantedList.read(decode(row.granted), 'granted')
      const ids = granted.map(({ capability }) => capability.body.id)
      return ids.some(id => capabilities.isIssued(id)) && !ids.some(id => capabilities.wasUsed(id))
    })
    return flying ? 'in_flight' : undefined
  }
}

/** Queues a message that carries capabilities, log and key set, and nothing else. */
export function queueCapabilities(threads: Threads, peer: string): void {
  threads.queueLoose(peer, {
    kind: kinds.capabilities,
    payload: encodePayload(kinds.capabilities, {}),
    text: '',
    numbered: false,
  })
}

export class AskedCapabilities {
  readonly #store: Store
  readonly #threads: Threads
  readonly #now: () => number

  constructor(store: Store, threads: Threads, now: () => number) {
    this.#store = store
    this.#threads = threads
    this.#now = now
  }

  /**
   * A message waits here for a capability of a peer of whom this node holds none: one empty message as a stranger says
   * so, at most once an hour and not right after a task, which says it too. A correspondent answers with a new stock.
   */
  ask(peer: string): void {
    const [store, now] = [this.#store, this.#now()]
    // what bears a later time was said while the clock ran ahead
    const lately = { since: now - ASKED_EVERY_MS, until: now }
    const isAsked = hasDelegatedTo(store, peer, lately) || hasAskedForCapabilities(store, peer, lately)
    if (!isAsked) store.transaction(() => queueCapabilities(this.#threads, peer), 'node.top-up')
  }
}
