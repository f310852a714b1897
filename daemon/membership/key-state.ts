/**
 * What a key event, a move or a new mailbox leaves to be done in the store. Each duty has a mark that is set before it
 * and taken away with it, so that whatever a crash interrupts is done at the next start, before anything is sent.
 */
import type { Failure } from '../../protocol/encoding/errors.ts'
import { isAhead } from '../../protocol/identity/kel-times.ts'
import { CLOCKS_APART_MAX_MS, clocksApart, datedAhead, hubTime } from '../hubs/clocks.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { Identity } from '../identity/identity.ts'
import type { MailboxKeys } from '../identity/mailbox-keys.ts'
import type { DeliveryCapabilities } from '../peers/capabilities.ts'
import { keepLasting, lasting } from '../store/lasting.ts'
import type { Store } from '../store/open.ts'
import type { Reseal } from './reseal.ts'

/**
 * An event is for good and the next one must be later: a hub that lies about the time can hold the identity back from
 * every other hub for no longer than this. A clock that is wrong by a time zone or a summer hour is still followed.
 */
const FOLLOWED_AHEAD_MAX_MS = 2 * 3_600_000

/** Marks the mailbox for replacement; part of the transaction that makes it necessary. */
export function markNewMailbox(store: Store): void {
  keepLasting(store, { mailboxDue: 1 })
}

export class KeyState {
  readonly #identity: Identity
  readonly #keys: MailboxKeys
  readonly #store: Store
  readonly #capabilities: DeliveryCapabilities
  readonly #reseal: Reseal
  readonly #now: () => number

  constructor(
    parts: {
      identity: Identity
      keys: MailboxKeys
      store: Store
      capabilities: DeliveryCapabilities
      reseal: Reseal
    },
    now: () => number,
  ) {
    this.#identity = parts.identity
    this.#keys = parts.keys
    this.#store = parts.store
    this.#capabilities = parts.capabilities
    this.#reseal = parts.reseal
    this.#now = now
  }

  get isEnded(): boolean {
    return this.#identity.log.deactivated
  }

  /** A new key for the present home, and all that follows from it. */
  rotate(home: HubClient | undefined): void {
    this.#identity.rotate(home?.identity.aid, this.#eventTime(home))
    this.settle(home)
  }

  /** The end of the identity, and all that follows from it. */
  deactivate(home: HubClient | undefined): void {
    this.#identity.deactivate(this.#eventTime(home))
    this.settle(home)
  }

  /** Refuses a hub that the log could not name, for its clock or for want of the next key. */
  requireNameable(hub: HubClient): void {
    if (this.#identity.log.home === hub.identity.aid) return
    if (!this.#isClockFollowed(hub)) throw clocksApart(hubTime(hub) - this.#now())
    this.#identity.requireNextKey()
  }

  /** Whether the last event lies ahead of the time of a hub, which does not take it then. */
  isAheadOf(hub: HubClient): boolean {
    return isAhead(this.#identity.log.ts, hubTime(hub))
  }

  sayAheadOf(hub: HubClient): Failure {
    return datedAhead(this.#identity.log.ts, hub)
  }

  /** Whether a further event could come nearer to the time of a hub; none falls behind one that lies ahead. */
  isBehind(hub: HubClient): boolean {
    return this.#isClockFollowed(hub) && !this.isAheadOf(hub)
  }

  /** Time of a key event: that of the hub, as far as it is near our own. */
  #eventTime(hub: HubClient | undefined): number {
    const now = this.#now()
    const ahead = (hub === undefined ? now : hubTime(hub)) - now
    return now + Math.max(-CLOCKS_APART_MAX_MS, Math.min(ahead, FOLLOWED_AHEAD_MAX_MS))
  }

  /** Whether the clock of a hub is followed as far as an event for it needs. */
  #isClockFollowed(hub: HubClient): boolean {
    return hubTime(hub) - this.#now() <= FOLLOWED_AHEAD_MAX_MS
  }

  /** Does what is still open: the rotation that names the home, the new mailbox, the outbox under the new key. */
  settle(home: HubClient | undefined): void {
    const [identity, store] = [this.#identity, this.#store]
    if (this.isEnded) {
      this.#reseal.end()
      return
    }
    if (home !== undefined && identity.log.home !== home.identity.aid)
      identity.rotate(home.identity.aid, this.#eventTime(home))
    const isRenewed = lasting(store, 'mailboxDue') === 1
    const isReady = lasting(store, 'outboxKelSeq') === identity.log.seq
    if (isReady && !isRenewed) return
    if (isRenewed) this.#keys.startEpoch()
    store.transaction(() => {
      if (!isReady) this.#reseal.remakeReceipts()
      if (isRenewed) {
        this.#capabilities.voidIssued()
        this.#reseal.announceMove()
      }
      keepLasting(store, { mailboxDue: 0, outboxKelSeq: identity.log.seq })
    }, 'node.key-state')
  }
}
