/** The carrier of sealed mail: each message in an envelope of its own, let in by a capability or a session of its sender. */
import { Refused } from '../../protocol/contract/client.ts'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { dackHandle } from '../../protocol/mail/dack.ts'
import type {
  Arrived,
  Carrier,
  Carriers,
  Collected,
  Collecting,
  Delivered,
  Fate,
  Looked,
  Taker,
  Undelivered,
} from '../carrier/carrier.ts'
import type { Ground } from '../context.ts'
import { isUnreached, neverCounted, reasonOf } from '../hubs/failures.ts'
import { type HubClient, HubStopped, type SealedMail, type SendReply, type StatusReply } from '../hubs/hub.ts'
import { isHeld, type OutboxEntry, SESSION } from '../store/outbox.ts'
import { ownReason } from '../store/reasons.ts'
import { pauseOf, WaitingForKeys } from './awaited-keys.ts'
import { fateIn, UNCONFIRMED } from './confirmations.ts'
import { Directory } from './directory.ts'
import { Mailbox } from './mailbox.ts'
import { afterRefusal, awaitAccess, awaitCapability, isRefused } from './refusals.ts'
import { type Sealed, sealMessage, WaitingForCapability } from './sealing.ts'

type Needs = Pick<
  Ground,
  | 'identity'
  | 'keys'
  | 'store'
  | 'contacts'
  | 'peers'
  | 'capabilities'
  | 'attachments'
  | 'threads'
  | 'transfers'
  | 'log'
  | 'now'
  | 'hubNow'
  | 'random'
> & { directory: Directory }

/** One carrier for each hub, for as long as the hub is talked to. */
export function sealedCarriers(ground: Ground): Carriers {
  const directory = new Directory(ground)
  const ctx = { ...ground, directory }
  const carriers = new WeakMap<HubClient, Carrier>()
  return {
    over(hub) {
      const carrier = carriers.get(hub) ?? new SealedCarrier(ctx, hub, mailOf(hub))
      carriers.set(hub, carrier)
      return carrier
    },
    find: (aid, options) => directory.lookup(aid, options),
  }
}

/** A wire that seals nothing has a carrier of its own. */
function mailOf({ mail, url }: HubClient): SealedMail {
  if (mail === undefined) throw new Error(`the hub ${url} carries no sealed mail`)
  return mail
}

export class SealedCarrier implements Carrier {
  readonly #ctx: Needs
  readonly #hub: HubClient
  readonly #mail: SealedMail
  readonly #mailbox: Mailbox

  constructor(ctx: Needs, hub: HubClient, mail: SealedMail) {
    this.#ctx = ctx
    this.#hub = hub
    this.#mail = mail
    this.#mailbox = new Mailbox(ctx, hub, mail)
  }

  async deliver(entry: OutboxEntry): Promise<Delivered> {
    if (isRefused(entry)) return { ...(await awaitAccess(this.#ctx, entry)), reached: undefined }
    let sealed: Sealed | undefined
    try {
      sealed = await sealMessage(this.#ctx, entry)
      const { rid, viaHub = null, isQuiet = false } = await this.#send(entry, sealed)
      const credential = sealed.capability === undefined ? SESSION : toBase64url(sealed.capability.id)
      const at = { rid, viaHub, credential, expiresAt: sealed.expMs }
      return { outcome: 'at_hub', at, isQuiet, reached: true }
    } catch (error) {
      const next = await this.#after(entry, sealed, error)
      return { ...next, reached: isUnreached(error) ? false : isRefusedByHub(error) || undefined }
    }
  }

  /** Hands an envelope to the hub, counted, until it is held back. */
  async #send(entry: OutboxEntry, { delivery }: Sealed): Promise<SendReply> {
    const { threads, transfers } = this.#ctx
    const id = entry.interaction === null ? undefined : threads.byKey(entry.interaction).id
    const { content, signal, end } = transfers.begin(entry.message, id, delivery)
    try {
      return await this.#mail.send({ ...delivery, content, signal })
    } finally {
      end()
    }
  }

  async #after(entry: OutboxEntry, sealed: Sealed | undefined, error: unknown): Promise<Undelivered> {
    const ctx = this.#ctx
    if (sealed?.capability !== undefined && neverCounted(error)) ctx.capabilities.refund(sealed.capability.id)
    if (isHeld(ctx.store, entry.message)) return { outcome: 'held' }
    if (error instanceof Refused) return afterRefusal(ctx, { hub: this.#hub, entry, sealed, refused: error })
    if (error instanceof WaitingForCapability) return awaitCapability(ctx, entry, ownReason(error.message))
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
    if (reply.dack !== undefined) return fateIn(this.#ctx, entry, reply.dack)
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

/** By the place for envelopes, or by the directory that was asked for keys before. */
const isRefusedByHub = (error: unknown): boolean =>
  (error instanceof WaitingForKeys ? error.cause : error) instanceof Refused

function awaitKeys(waiting: WaitingForKeys): Undelivered {
  const { why, afterMs } = pauseOf(waiting)
  if (waiting.why === 'ended') return { outcome: 'final', reason: why.reason }
  return { outcome: 'again', why, ...present({ afterMs }) }
}
