/** The carrier of sealed mail: each message in an envelope of its own, let in by a capability or a session of its sender. */
import { Refused } from '../../protocol/contract/client.ts'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { dackHandle } from '../../protocol/mail/dack.ts'
import type {
  Arrived,
  Carrier,
  Collected,
  Collecting,
  Delivered,
  Fate,
  Looked,
  SignedVerdict,
  Taker,
  Undelivered,
} from '../carrier/carrier.ts'
import { isUnreached, neverCounted, reasonOf } from '../hubs/failures.ts'
import {
  type Delivery,
  type HubClient,
  HubStopped,
  type SealedMail,
  type SendReply,
  type StatusReply,
} from '../hubs/hub.ts'
import type { DeliveryCapabilities } from '../peers/capabilities.ts'
import type { Transfers } from '../platform/transfers.ts'
import type { Store } from '../store/open.ts'
import { isHeld, type OutboxEntry, outboxEntry, SESSION } from '../store/outbox.ts'
import { ownReason } from '../store/reasons.ts'
import type { Threads } from '../store/threads.ts'
import { pauseOf, WaitingForKeys } from './awaited-keys.ts'
import { type ReadConfirmations, UNCONFIRMED } from './confirmations.ts'
import type { Mailbox, SealedHub } from './mailbox.ts'
import { isRefused, type Refusals } from './refusals.ts'
import { type Sealed, type Sealing, WaitingForCapability } from './sealing.ts'

/** A way that is tried before that of the hub; gives what was found in the confirmation that somebody gave there. */
export type SealedShortcut = <T>(
  entry: OutboxEntry,
  delivery: Delivery,
  judge: (confirmation: Uint8Array) => T | undefined,
) => Promise<T | undefined>

type CarrierParts = {
  store: Store
  shortcut: SealedShortcut | undefined
  capabilities: DeliveryCapabilities
  sealing: Sealing
  refusals: Refusals
  counted: CountedTransfers
  confirmations: ReadConfirmations
}

export class SealedCarrier implements Carrier {
  readonly #parts: CarrierParts
  readonly #hub: HubClient
  readonly #mail: SealedMail
  readonly #mailbox: Mailbox

  constructor(parts: CarrierParts, { hub, mail }: SealedHub, mailbox: Mailbox) {
    this.#parts = parts
    this.#hub = hub
    this.#mail = mail
    this.#mailbox = mailbox
  }

  async deliver(entry: OutboxEntry): Promise<Delivered> {
    const { sealing, refusals, counted } = this.#parts
    if (isRefused(entry)) return { ...(await refusals.awaitAccess(entry)), reached: undefined }
    let sealed: Sealed | undefined
    try {
      sealed = await sealing.seal(entry)
      const fate = await this.#pastHub(entry, sealed)
      if (fate !== undefined) return { outcome: 'judged', fate, reached: undefined }
      if (isHeld(this.#parts.store, entry.message)) return { outcome: 'held', reached: undefined }
      const { rid, viaHub = null, isQuiet = false } = await counted.send(this.#mail, entry, sealed)
      const credential = sealed.capability === undefined ? SESSION : toBase64url(sealed.capability.id)
      const at = { rid, viaHub, credential, expiresAt: sealed.expMs }
      return { outcome: 'at_hub', at, isQuiet, reached: true }
    } catch (error) {
      const next = await this.#after(entry, sealed, error)
      return { ...next, reached: isUnreached(error) ? false : isRefusedByHub(error) || undefined }
    }
  }

  /** The verdict of the recipient, signed under the newest key that is known of it; nothing else keeps it from the hub. */
  async #pastHub({ message }: OutboxEntry, { delivery }: Sealed): Promise<SignedVerdict | undefined> {
    const { store, shortcut, confirmations } = this.#parts
    const written = outboxEntry(store, message)
    if (written === undefined || shortcut === undefined) return undefined
    return await shortcut(written, delivery, dack => {
      const fate = confirmations.fateIn(written, dack)
      return fate.is === 'judged' ? fate : undefined
    })
  }

  async #after(entry: OutboxEntry, sealed: Sealed | undefined, error: unknown): Promise<Undelivered> {
    const { store, capabilities, refusals } = this.#parts
    if (sealed?.capability !== undefined && neverCounted(error)) capabilities.refund(sealed.capability.id)
    if (isHeld(store, entry.message)) return { outcome: 'held' }
    if (error instanceof Refused) return refusals.after({ hub: this.#hub, entry, sealed, refused: error })
    if (error instanceof WaitingForCapability)
      return refusals.awaitCapability(entry, ownReason(error.message))
    if (error instanceof WaitingForKeys) return awaitKeys(error)
    // the outbox looks for a hub that can't be reached: once it is found, everything is due
    const isAway = !(error instanceof HubStopped) && isUnreached(error)
    return { outcome: 'again', why: reasonOf(error), ...present({ afterMs: isAway ? 0 : undefined }) }
  }

  async fatesOf(entries: readonly OutboxEntry[]): Promise<(Fate | undefined)[]> {
    const [first] = entries
    if (first === undefined) return []
    const items = entries.map(({ rid, handleSecret, viaHub }) => ({
      rid: rid ?? '',
      handle: dackHandle(handleSecret),
      ...present({ viaHub: viaHub ?? undefined }),
    }))
    const credential = first.credential === SESSION ? 'session' : 'capability'
    const replies = await this.#mail.deliveryStates(credential, items)
    return entries.map((entry, i) => this.#fateOf(entry, replies[i]))
  }

  #fateOf(entry: OutboxEntry, reply: StatusReply | undefined): Fate | undefined {
    if (reply === undefined) return undefined
    if (reply.dack !== undefined) return this.#parts.confirmations.fateIn(entry, reply.dack)
    if (reply.state === 'done') return { is: 'unproven', why: UNCONFIRMED }
    return { is: reply.state === 'queued' ? 'waiting' : 'unknown' }
  }

  collect(how: Collecting, by: Taker): Promise<Collected> {
    return this.#mailbox.collect(how, by)
  }

  look(how: Collecting & { after?: number | undefined }, see: (arrived: Arrived) => void): Promise<Looked> {
    return this.#mailbox.look(how, see)
  }
}

/** Envelopes on their way to a hub, as their owner sees them go. */
export class CountedTransfers {
  readonly #threads: Threads
  readonly #transfers: Transfers

  constructor(threads: Threads, transfers: Transfers) {
    this.#threads = threads
    this.#transfers = transfers
  }

  /** Hands an envelope to the hub, counted, until it is held back. */
  async send(mail: SealedMail, entry: OutboxEntry, { delivery }: Sealed): Promise<SendReply> {
    const id = entry.interaction === null ? undefined : this.#threads.byKey(entry.interaction).id
    const { content, signal, end } = this.#transfers.begin(entry.message, id, delivery)
    try {
      return await mail.send({ ...delivery, content, signal })
    } finally {
      end()
    }
  }
}

/** By the place for envelopes, or by the directory that was asked for keys before. */
const isRefusedByHub = (error: unknown): boolean =>
  (error instanceof WaitingForKeys ? error.cause : error) instanceof Refused

function awaitKeys(waiting: WaitingForKeys): Undelivered {
  const { why, afterMs } = pauseOf(waiting)
  if (waiting.why === 'ended') return { outcome: 'final', reason: why.reason }
  return { outcome: 'again', why, ...present({ afterMs }) }
}
