/**
 * Delivery credentials in stock: those peers gave us, spent least used first, and those we hand out in batches so that
 * a correspondent never has to ask (objects: capability).
 */
import { publicKey } from '#crypto'
import { ENVELOPE_BYTES_MAX } from '../../protocol/contract/limits.ts'
import {
  CAPABILITIES_PER_MESSAGE_MAX,
  CAPABILITY_ID_BYTES,
  Capability,
  CapabilityBody,
  type GrantedCapability,
  latestEnd,
} from '../../protocol/mail/capability.ts'
import type { MailboxKeys } from '../identity/mailbox-keys.ts'
import {
  dropHeld,
  dropOtherEpochs,
  dropUpTo,
  FORGOTTEN,
  forgetUnspent,
  heldSeeds,
  isAnyHeld,
  issuedCount,
  issuedIds,
  issuedUse,
  keepHeld,
  leastUsedHeld,
  nextBatch,
  noteIssued,
  noteSpent,
  refundHeld,
  removeExpired,
  renewUses,
  revokeIssued,
  SPENT,
  spendHeld,
  trimHeld,
  unspentCount,
  voidAllIssued,
} from '../store/capabilities.ts'
import { forgetUses, noteUseOf, otherUses } from '../store/direct.ts'
import { keepLasting, lasting } from '../store/lasting.ts'
import type { Store } from '../store/open.ts'
import { hurryHeld } from '../store/outbox.ts'

/** Unspent capabilities that a correspondent should have; below the lower mark the next message tops up. */
const STOCK_TARGET = 8
const STOCK_LOW = 5
const USES_PER_DAY = 4
const HELD_PER_PEER_MAX = 64
const FORGOTTEN_PER_PEER_MAX = 256
const DAY_MS = 86_400_000
/** Longer than a message waits for its next try where nothing else holds it up. */
const LONG_MS = 10 * 60_000

export type HeldCapability = { id: Uint8Array; granted: GrantedCapability }
export type CapabilityInputs = {
  identity: { readonly aid: string }
  now: () => number
  random: (length: number) => Uint8Array
}

export class DeliveryCapabilities {
  #store: Store
  #keys: MailboxKeys
  #inputs: CapabilityInputs

  constructor(store: Store, keys: MailboxKeys, inputs: CapabilityInputs) {
    this.#store = store
    this.#keys = keys
    this.#inputs = inputs
  }

  /**
   * Capabilities to put into the next message to a peer, recorded as issued; none while its stock is good. A message
   * that carries nothing else brings as many as one message takes.
   */
  topUp(peer: string, nothingElse = false): GrantedCapability[] {
    const now = this.#inputs.now()
    const stock = unspentCount(this.#store, peer, now)
    if (stock >= STOCK_LOW || this.#hoards(peer, now)) return []
    const count = nothingElse ? CAPABILITIES_PER_MESSAGE_MAX : STOCK_TARGET - stock
    return Array.from({ length: count }, () => this.#issue(peer, now))
  }

  /** Whether a peer holds fewer unspent capabilities of ours than it should. */
  isLow(peer: string): boolean {
    const now = this.#inputs.now()
    return unspentCount(this.#store, peer, now) < STOCK_LOW && !this.#hoards(peer, now)
  }

  /** Whether a peer said too often that it had none while it holds many that nobody used. */
  #hoards(peer: string, now: number): boolean {
    return issuedCount(this.#store, peer, FORGOTTEN, now) >= FORGOTTEN_PER_PEER_MAX
  }

  /** Notes that a peer spent one of ours, with an envelope of this digest. */
  noteUse(id: Uint8Array, digest: Uint8Array): void {
    noteSpent(this.#store, id)
    noteUseOf(this.#store, id, digest, this.#today)
  }

  /** Whether envelopes other than this one have used it up today, whichever way they came. */
  isUsedUp({ id, usesPerDayMax }: CapabilityBody, digest: Uint8Array): boolean {
    return otherUses(this.#store, id, digest, this.#today) >= usesPerDayMax
  }

  get #today(): number {
    return Math.floor(this.#inputs.now() / DAY_MS)
  }

  /** Whether a peer spent this one, which shows that the message with it arrived. */
  wasUsed(id: Uint8Array): boolean {
    return issuedUse(this.#store, id) === SPENT
  }

  /** Whether this one is still good: neither taken back nor of a mailbox of before. */
  isIssued(id: Uint8Array): boolean {
    return issuedUse(this.#store, id) !== undefined
  }

  /** No longer counts on what was issued to a peer: the next message brings a full stock. A block still revokes it. */
  forgetIssued(peer: string): void {
    forgetUnspent(this.#store, peer)
  }

  /** Notes that everything issued to a peer is to be taken back; part of the transaction of its caller. */
  revokeIssued(peer: string): void {
    revokeIssued(this.#store, peer, this.#inputs.now())
  }

  /** Ids of everything unexpired that a peer holds of ours, for a revocation. */
  issuedTo(peer: string): Uint8Array[] {
    return issuedIds(this.#store, peer, this.#inputs.now())
  }

  /** Takes in what a peer granted; expired or foreign ones are left aside. */
  accept(peer: string, granted: readonly GrantedCapability[]): void {
    const now = this.#inputs.now()
    const batch = nextBatch(this.#store, peer)
    for (const { capability, holderSeed } of granted) {
      const { body } = capability
      if (body.recipient !== peer || body.expMs <= now) continue
      keepHeld(this.#store, {
        id: body.id,
        peer,
        epoch: body.epoch,
        body: capability.bodyBytes,
        signature: capability.signature,
        holderSeed,
        expiresAt: body.expMs,
        bytesMax: body.bytesMax,
        batch,
      })
    }
    trimHeld(this.#store, peer, HELD_PER_PEER_MAX)
  }

  /**
   * The least used capability of this epoch that takes an envelope of `size` bytes, of these the newest. One that was
   * issued under a clock that ran ahead is taken only where there is no other.
   */
  choose(peer: string, epoch: Uint8Array, size: number): HeldCapability | undefined {
    const now = this.#inputs.now()
    const [until, latest] = [now + 60_000, latestEnd(now)]
    const row = leastUsedHeld(this.#store, peer, { epoch, until, latest, size, usesMax: USES_PER_DAY })
    if (row === undefined) return undefined
    const capability = {
      body: CapabilityBody.decode(row.body),
      bodyBytes: row.body,
      signature: row.signature,
    }
    return { id: row.id, granted: { capability, holderSeed: row.holderSeed } }
  }

  /** Whether a capability of this peer is in stock. */
  holdsAny(peer: string): boolean {
    return isAnyHeld(this.#store, peer, { until: this.#inputs.now() + 60_000, usesMax: USES_PER_DAY })
  }

  /** Holder seeds in stock: whoever has one can write to that peer in this node's place. */
  heldSeeds(): Uint8Array[] {
    return heldSeeds(this.#store)
  }

  spend(id: Uint8Array): void {
    spendHeld(this.#store, id)
  }

  /** Makes what could go under a capability that is held due, where it waits as a stranger's. */
  hurryHeld(): boolean {
    return hurryHeld(this.#store, {
      now: this.#inputs.now(),
      longMs: LONG_MS,
      usesMax: USES_PER_DAY,
    })
  }

  /** Gives a use back: the envelope never came to count at the hub. */
  refund(id: Uint8Array): void {
    refundHeld(this.#store, id)
    this.hurryHeld()
  }

  /**
   * Drops one that the hub refused, and where the peer has sent newer ones all that came before them, which it has taken
   * back as well. True in that case: the stock is never emptied so, whatever a hub refuses.
   */
  dropRefused(peer: string, id: Uint8Array): boolean {
    if (dropUpTo(this.#store, peer, id, USES_PER_DAY)) return true
    dropHeld(this.#store, id)
    return false
  }

  /** Drops the stock of every other epoch of a peer; true when there was any. */
  dropOtherEpochs(peer: string, epoch: Uint8Array): boolean {
    return dropOtherEpochs(this.#store, peer, epoch)
  }

  /** After a new mailbox epoch: everything handed out before is void. */
  voidIssued(): void {
    voidAllIssued(this.#store)
  }

  clean(): void {
    const now = this.#inputs.now()
    removeExpired(this.#store, now)
    forgetUses(this.#store, this.#today - 1)
    this.#renewDailyUses(now)
  }

  /** Uses are counted for each UTC day. */
  #renewDailyUses(now: number): void {
    const today = Math.floor(now / DAY_MS)
    if (lasting(this.#store, 'usesDay') === today) return
    renewUses(this.#store)
    keepLasting(this.#store, { usesDay: today })
  }

  #issue(peer: string, now: number): GrantedCapability {
    const { identity, random } = this.#inputs
    const holderSeed = random(32)
    const id = random(CAPABILITY_ID_BYTES)
    const expMs = latestEnd(now)
    const capability = Capability.sign(this.#keys.mailboxSeed, {
      v: 1,
      id,
      recipient: identity.aid,
      epoch: this.#keys.epoch,
      holderKey: publicKey(holderSeed),
      expMs,
      usesPerDayMax: USES_PER_DAY,
      bytesMax: ENVELOPE_BYTES_MAX,
    })
    noteIssued(this.#store, { id, peer, expiresAt: expMs })
    return { capability, holderSeed }
  }
}
