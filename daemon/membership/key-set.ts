/** The key set of this node: made as its settings say, renewed, and published above every set that a hub holds. */
import { Refused } from '../../protocol/contract/client.ts'
import { KeySet, STRANGER_BYTES_MIN } from '../../protocol/identity/keyset.ts'
import type { Settings } from '../home/settings.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { Identity } from '../identity/identity.ts'
import type { MailboxKeys } from '../identity/mailbox-keys.ts'

const STRANGER_BYTES = 4 * STRANGER_BYTES_MIN

export class OwnKeySet {
  readonly #identity: Identity
  readonly #keys: MailboxKeys
  readonly #settings: Settings

  constructor(identity: Identity, keys: MailboxKeys, settings: Settings) {
    this.#identity = identity
    this.#keys = keys
    this.#settings = settings
  }

  /** Whether the home holds the newest set. */
  get isConfirmed(): boolean {
    return this.#keys.isConfirmed
  }

  /** The newest set, which is made where there is none or a newer one is due. */
  ensure(atLeastSeq?: number): KeySet {
    const { log, seed } = this.#identity
    const strangers = { bytes: STRANGER_BYTES, perDay: this.#settings.current.guest_messages }
    return this.#keys.ensureSet(log, seed, strangers, atLeastSeq)
  }

  /** A hub holds this set. */
  confirm(set: KeySet): void {
    this.#keys.confirm(set)
  }

  /** A hub of open mail keeps no sets. */
  async publish(home: HubClient, set = this.ensure()): Promise<void> {
    if (home.openMail !== undefined) return
    const keys = this.#keys
    try {
      await home.publishKeys(KeySet.encode(set), keys.previousSeq(this.#identity.log))
      keys.confirm(set)
    } catch (error) {
      const stored = storedSeq(error)
      if (stored === undefined) throw error
      const next = this.ensure(stored + 1)
      await home.publishKeys(KeySet.encode(next), stored)
      keys.confirm(next)
    }
  }

  /** Goes above the set that the hub says it holds, after `keys_rollback`; false after anything else. */
  goAbove(refused: unknown): boolean {
    const stored = storedSeq(refused)
    if (stored !== undefined) this.ensure(stored + 1)
    return stored !== undefined
  }

  /** Goes above every set that this identity gave out. */
  raise(): void {
    const { set } = this.#keys
    if (set !== undefined) this.ensure(set.body.setSeq + 1)
  }
}

/** The number of the set that a hub holds, where it refused an older one. */
function storedSeq(error: unknown): number | undefined {
  const stored =
    error instanceof Refused && error.code === 'keys_rollback' ? error.members['stored_seq'] : undefined
  return typeof stored === 'number' ? stored : undefined
}
