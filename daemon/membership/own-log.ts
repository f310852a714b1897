/**
 * What the hub holds of this identity beside what this machine holds. Later key events there: this is an old copy, and
 * whatever it signed would stand beside what the newer one signed (design: restore). Less than it once confirmed: the
 * hub came back from a backup, and is told again.
 */

import { Refused } from '../../protocol/contract/client.ts'
import { equal, Malformed } from '../../protocol/encoding/bytes.ts'
import { compareKel, KelInvalid, type KeyEvent, type VerifiedKel } from '../../protocol/identity/kel.ts'
import { KeySet } from '../../protocol/identity/keyset.ts'
import { dueSet, isCopyAccepted, noteCaughtUp } from '../chain/accept.ts'
import type { CurrentHub } from '../hubs/current.ts'
import type { HubClient } from '../hubs/hub.ts'
import { isKeptOut } from '../hubs/kept-out.ts'
import type { Identity } from '../identity/identity.ts'
import type { MailboxKeys } from '../identity/mailbox-keys.ts'
import type { Machine } from '../platform/machine.ts'
import { forgetRegistered } from '../store/hubs.ts'
import type { Store } from '../store/open.ts'
import { doubtAtHub } from '../store/outbox.ts'

export class OwnLog {
  readonly #identity: Identity
  readonly #keys: MailboxKeys
  readonly #store: Store
  readonly #hub: CurrentHub
  readonly #machine: Machine

  constructor(
    parts: { identity: Identity; keys: MailboxKeys; store: Store; hub: CurrentHub },
    machine: Machine,
  ) {
    this.#identity = parts.identity
    this.#keys = parts.keys
    this.#store = parts.store
    this.#hub = parts.hub
    this.#machine = machine
  }

  /** Brings our belief about the hub in line with it; why this machine is an old copy, when it is one. */
  async compareWithHub(hub: HubClient): Promise<string | undefined> {
    const [{ aid, log }, keys, store] = [this.#identity, this.#keys, this.#store]
    const held = await servedState(hub, aid)
    const set = held?.keySet && this.#ownSet(held.keySet)
    const why = held && (contradiction(log, held.log) ?? this.#newerSet(set))
    if (why !== undefined) return this.#stopped(why)
    const isBehind = held === undefined || held.log.length < log.events.length || lacksSet(hub, held)
    const own = keys.set?.body.setSeq ?? 0
    if (isBehind) {
      forgetRegistered(store, hub.url)
      doubtAtHub(store, this.#machine.now(), null)
    }
    if (!isBehind && set !== undefined && set.body.setSeq !== own) keys.unconfirm()
    if (dueSet(store) === undefined && (set === undefined || set.body.setSeq <= own)) noteCaughtUp(store)
    return undefined
  }

  /**
   * Why this machine is an old copy, by what another hub than its home holds; a copy that is lost may have told it of a
   * key event that the home never saw.
   */
  async compareWithOther(other: HubClient): Promise<string | undefined> {
    const { aid, log } = this.#identity
    const held = await servedState(other, aid)
    const why = held && contradiction(log, held.log, `the hub ${other.url}`)
    return why === undefined ? undefined : this.#stopped(why)
  }

  /** Whether a call failed because the hub takes nothing from this identity. */
  isKeptOut(error: unknown, hub: HubClient): Promise<boolean> {
    return isKeptOut(error, hub, this.#identity.log)
  }

  /** Whether a hub does not know this identity; one that does not answer says nothing. */
  async isUnknownAt(hub: HubClient): Promise<boolean> {
    return await hub.fetchAgent(this.#identity.aid).then(
      found => found === undefined,
      error => error instanceof Refused && error.code === 'unknown_aid',
    )
  }

  #stopped(why: string): string {
    const hub = this.#hub
    this.#machine.log.error({ reason: why }, 'stopped talking to the hub')
    if (hub.home !== undefined) hub.halt(hub.home, why)
    return why
  }

  /** A set that this identity signed under its present key. */
  #ownSet(encoded: Uint8Array): KeySet | undefined {
    const { aid, log } = this.#identity
    const { set: newest } = this.#keys
    if (newest?.body.kelSeq === log.seq && equal(encoded, KeySet.encode(newest))) return newest
    try {
      const set = KeySet.decode(encoded)
      const isOwn = set.body.aid === aid && set.body.kelSeq === log.seq && KeySet.verify(log.publicKey, set)
      return isOwn ? set : undefined
    } catch (error) {
      if (error instanceof Malformed) return undefined
      throw error
    }
  }

  /** Sets are durable before anybody sees them: one that is not here was made by a newer copy. */
  #newerSet(held: KeySet | undefined): string | undefined {
    const [identity, keys] = [this.#identity, this.#keys]
    const own = keys.set?.body.kelSeq === identity.log.seq ? keys.set : undefined
    const ownSeq = own?.body.setSeq ?? 0
    if (held === undefined || held.body.setSeq < ownSeq || isCopyAccepted(this.#store)) return undefined
    if (own !== undefined && equal(KeySet.encode(held), KeySet.encode(own))) return undefined
    const here = held.body.setSeq === ownSeq ? 'another one under that number' : ownSeq
    return `the hub holds key set ${held.body.setSeq} of this identity and this machine ${here}: it is an old copy; stop the node and put the newest copy of its directory in its place, or, if that is lost, run svc evidence accept`
  }
}

/** A hub of open mail holds none. */
const lacksSet = ({ mail }: HubClient, { keySet }: Served): boolean =>
  mail !== undefined && keySet === undefined

type Served = { log: KeyEvent[]; keySet: Uint8Array | undefined }

/** Log and key set as the hub serves them; of an agent that is not registered there, the log alone. */
async function servedState(hub: HubClient, aid: string): Promise<Served | undefined> {
  try {
    return (await hub.fetchAgent(aid)) ?? { log: await hub.fetchLog(aid), keySet: undefined }
  } catch (error) {
    // A hub that never knew the identity, or shows nothing that can be read, knows no better.
    if (error instanceof Malformed || (error instanceof Refused && error.code === 'unknown_aid'))
      return undefined
    throw error
  }
}

function contradiction(own: VerifiedKel, held: readonly KeyEvent[], who = 'the hub'): string | undefined {
  try {
    const verdict = compareKel(own, held)
    if (verdict.verdict === 'extends')
      return `${who} holds key event ${verdict.log.seq} of this identity and this machine ${own.seq}: it is an old copy; restore the newest backup of identity.kel and interactions, or use the machine that rotated the key`
    if (verdict.verdict === 'fork')
      return `${who} holds another key history of this identity than this machine; stop one of the two machines that have its keys`
    return undefined
  } catch (error) {
    // What does not verify proves nothing.
    if (error instanceof KelInvalid) return undefined
    throw error
  }
}
