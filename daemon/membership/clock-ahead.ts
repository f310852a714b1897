/**
 * An identity that was made while the clock of its machine ran ahead: a hub takes no event from the future, and none
 * that follows could be earlier. One that nobody has seen is made anew; any other has to wait.
 */
import { isAhead } from '../../protocol/identity/kel-times.ts'
import type { Chain } from '../chain/chain.ts'
import { datedAhead } from '../hubs/clocks.ts'
import { ClocksApart, type HubClient } from '../hubs/hub.ts'
import type { Identity } from '../identity/identity.ts'
import type { MailboxKeys } from '../identity/mailbox-keys.ts'
import type { Events } from '../platform/events.ts'
import type { Machine } from '../platform/machine.ts'
import { wasRegistered } from '../store/hubs.ts'
import { keepLasting, lasting } from '../store/lasting.ts'
import { hasMessages } from '../store/messages.ts'
import type { Store } from '../store/open.ts'

const SAID_FOR_MS = 7 * 86_400_000

export class Admission {
  readonly #identity: Identity
  readonly #keys: MailboxKeys
  readonly #store: Store
  readonly #chain: Chain
  readonly #events: Events
  readonly #machine: Machine

  constructor(
    parts: { identity: Identity; keys: MailboxKeys; store: Store; chain: Chain; events: Events },
    machine: Machine,
  ) {
    this.#identity = parts.identity
    this.#keys = parts.keys
    this.#store = parts.store
    this.#chain = parts.chain
    this.#events = parts.events
    this.#machine = machine
  }

  /** Asks a hub whether it would take this identity, which is made anew first where it can't be taken for its time. */
  async check(hub: HubClient, invite?: string): Promise<void> {
    if (invite !== undefined) await this.#beDatedRight(hub)
    try {
      await hub.checkAdmission(this.#identity.log, invite)
    } catch (error) {
      if (error instanceof ClocksApart || !this.#isDatedAhead(hub)) throw error
    }
    if (!this.#isDatedAhead(hub)) return
    this.#makeAnew(hub)
    await hub.checkAdmission(this.#identity.log, invite)
  }

  /** Whoever asks with an invitation may spend it: on no identity that is given up then. */
  async #beDatedRight(hub: HubClient): Promise<void> {
    if (hub.knownTimeMs === undefined) await hub.refresh()
    if (this.#isDatedAhead(hub)) this.#makeAnew(hub)
  }

  #timeAt(hub: HubClient): number {
    const now = this.#machine.now()
    return Math.min(now, hub.knownTimeMs ?? now)
  }

  #isDatedAhead(hub: HubClient): boolean {
    return isAhead(this.#identity.log.ts, this.#timeAt(hub))
  }

  #makeAnew(hub: HubClient): void {
    const [identity, store] = [this.#identity, this.#store]
    const now = this.#timeAt(hub)
    const isWitnessed = identity.log.events.some(event => event.witnesses.length > 0)
    if (isWitnessed || wasRegistered(store) || this.#chain.length > 0 || hasMessages(store))
      throw datedAhead(identity.log.ts, hub)
    const previous = identity.aid
    identity.renew(now)
    this.#keys.startEpoch()
    keepLasting(store, { anewFrom: previous, anewAt: now })
    this.#machine.log.warn({ previous, aid: identity.aid }, 'the identity was made anew')
    this.#events.emit('settings')
  }
}

/** What the owner should know of an identity that was replaced lately. */
export function clockAheadWarning(store: Store, aid: string, now: number): string | undefined {
  const previous = lasting(store, 'anewFrom')
  if (now - (lasting(store, 'anewAt') ?? 0) > SAID_FOR_MS) return undefined
  return `this identity was made anew, because the clock of this machine ran ahead when it was first made and no hub had seen it; its AID is ${aid}, no longer ${previous}`
}
