/**
 * Mailboxes (hub API §4.1): judging an envelope from its head, queueing it, collecting, confirming, asking after it and
 * taking capabilities back.
 */

import { equal } from '../../protocol/encoding/bytes.ts'
import type { KeySet } from '../../protocol/identity/keyset.ts'
import type { Access } from '../../protocol/mail/access.ts'
import { DACK_BYTES, HANDLE_BYTES } from '../../protocol/mail/dack.ts'
import { type EnvelopeHead, EXP_AHEAD_MS, EXP_SKEW_MS, envelopeDigest } from '../../protocol/mail/envelope.ts'
import type { AckItem, DeliveryState, EnqueueResult, Quota, WaitingEnvelope } from '../store/port.ts'
import type { Agent, Agents } from './agents.ts'
import type { HubContext } from './context.ts'
import { Capabilities } from './credentials.ts'
import type { HeldPolls } from './held-polls.ts'
import { INLINE_BYTES_MAX, POLL_BYTES_MAX } from './limits.ts'
import { RateBuckets } from './rate.ts'
import { Refusal } from './refusal.ts'
import type { Sessions, SessionUse } from './sessions.ts'
import { Strangers } from './strangers.ts'

const RID_BYTES = 16
const ACK_ITEMS_MAX = 1000
const STATUS_ITEMS_MAX = 64
const STRANGERS_FULL_RETRY_MS = 600_000

/** What a sender shows before its content is read. */
export type Offer = {
  head: EnvelopeHead
  /** The credential as it stood in the header; byte-equal to the head's. */
  access: Access
  accessBytes: Uint8Array
  /** Bytes of the whole envelope. */
  size: number
  session: SessionUse | undefined
}

/** An offer whose credential holds: its content may be read now. */
export type Accepted = {
  digest: Uint8Array
  agent: Agent
  deleteAtMs: number
  use: { capability: Uint8Array; perDayMax: number } | undefined
  share: string | undefined
  quota: Quota
}

export type Sent = { status: 'queued' | 'duplicate'; rid: Uint8Array; recipientQuiet: boolean }
/** Bytes of an accepted envelope: in memory, or in a blob of this name. */
export type Content = { size: number; content: Uint8Array | undefined; file: string | undefined }

export class Mailboxes {
  readonly #context: HubContext
  readonly #agents: Agents
  readonly #sessions: Sessions
  readonly #polls: HeldPolls
  readonly #capabilities: Capabilities
  readonly #strangers: Strangers
  readonly #revokes: RateBuckets

  constructor(context: HubContext, agents: Agents, sessions: Sessions, polls: HeldPolls) {
    this.#context = context
    this.#agents = agents
    this.#sessions = sessions
    this.#polls = polls
    this.#capabilities = new Capabilities(context)
    this.#strangers = new Strangers(context.random)
    this.#revokes = new RateBuckets(context.limits.revokeRate)
  }

  /** Settles everything that head and headers decide: an accepted offer, or the answer to a repeat. */
  async judge(offer: Offer): Promise<{ accepted: Accepted } | { repeated: Sent }> {
    const nowMs = this.#context.now()
    const { head } = offer
    if (!equal(head.access, offer.accessBytes))
      throw new Refusal('envelopeMalformed', { why: 'its key 7 is not the X-Svc-Access that came with it' })
    if (head.expMs <= nowMs) throw new Refusal('expired')
    if (head.expMs > nowMs + EXP_AHEAD_MS + EXP_SKEW_MS) throw new Refusal('expiryTooFar')
    const agent = await this.#agents.findRegistered(head.to)
    const keys = agent?.keys
    if (agent === undefined || keys === undefined) throw new Refusal('recipientUnknown')
    if (!kidAccepted(agent, head.kid, nowMs)) throw new Refusal('kidStale')
    const digest = envelopeDigest(head)
    const mailbox = agent.row.number
    const { quota } = await this.#agents.account(head.to)
    const credential =
      offer.access.kind === 0
        ? this.#judgeSession(offer, digest)
        : await this.#judgeCapability(offer.access, agent, keys, digest, offer.size)
    // A small envelope under a capability is found again where it is queued; the others would cost quota or reading.
    const early = credential.sender !== undefined || offer.size >= INLINE_BYTES_MAX
    const first = early ? await this.#context.store.findQueued(mailbox, digest) : undefined
    if (first !== undefined) {
      return { repeated: { status: 'duplicate', rid: first, recipientQuiet: this.#agents.isQuiet(agent) } }
    }
    const share = credential.sender && this.#admitStranger(offer, agent, keys, credential.sender, quota)
    const deleteAtMs = Math.min(head.expMs, nowMs + this.#context.limits.envelopeLifeMs)
    return { accepted: { digest, agent, deleteAtMs, use: credential.use, share, quota } }
  }

  #judgeSession(offer: Offer, digest: Uint8Array): { sender: string; use: undefined } {
    if (offer.session === undefined) throw new Refusal('sessionInvalid')
    const session = this.#sessions.judge(offer.session, digest, offer.accessBytes)
    return { sender: session.aid, use: undefined }
  }

  async #judgeCapability(
    access: Extract<Access, { kind: 1 }>,
    agent: Agent,
    keys: KeySet,
    digest: Uint8Array,
    size: number,
  ): Promise<{ sender: undefined; use: { capability: Uint8Array; perDayMax: number } }> {
    const recipient = { mailbox: agent.row.number, aid: agent.row.aid, keys }
    const body = await this.#capabilities.judge(access, recipient, { digest, size })
    return { sender: undefined, use: { capability: body.id, perDayMax: body.usesPerDayMax } }
  }

  /** Limits for first contacts; returns the share under which this one is counted. */
  #admitStranger(offer: Offer, agent: Agent, keys: KeySet, sender: string, quota: Quota): string {
    const { limits, now } = this.#context
    const wished = keys.body.strangers
    if (offer.size > wished.bytes) throw new Refusal('tooLargeForStranger')
    const quotaWaitMs = this.#sessions.quotaWaitMs(sender)
    if (quotaWaitMs > 0) throw new Refusal('rateLimited', { retryAfterMs: quotaWaitMs })
    const mailbox = agent.row.number
    const share = this.#strangers.share(sender, mailbox)
    const perMinute = quota.strangerPerMinute ?? limits.strangerPerMinute
    const room = {
      perMinute,
      perDay: wished.perDay,
      senderPerMinute: limits.senderPerMinuteMax,
      senderWaiting: limits.senderWaitingMax,
    }
    const waitMs = this.#strangers.waitMs(share, mailbox, room, now())
    if (waitMs > 0) throw new Refusal('strangersBusy', { retryAfterMs: waitMs })
    this.#strangers.count(share, mailbox, now())
    this.#sessions.noteSent(sender)
    return share
  }

  /** Queues an accepted envelope whose content has been read and checked. */
  async queue(accepted: Accepted, content: Content): Promise<Sent> {
    const { store, limits, now, random } = this.#context
    const { agent, quota } = accepted
    const rid = random(RID_BYTES)
    const [result] = await store.enqueueMany([
      {
        mailbox: agent.row.number,
        rid,
        digest: accepted.digest,
        nowMs: now(),
        deleteAtMs: accepted.deleteAtMs,
        size: content.size,
        stranger: accepted.share !== undefined,
        content: content.content,
        file: content.file,
        use: accepted.use,
        limits: {
          envelopesMax: quota.envelopesMax ?? limits.mailboxEnvelopesMax,
          bytesMax: quota.bytesMax ?? limits.mailboxBytesMax,
          strangerEnvelopesMax: quota.strangerEnvelopesMax ?? limits.strangerEnvelopesMax,
          strangerBytesMax: quota.strangerBytesMax ?? limits.strangerBytesMax,
          timesPerDayMax: limits.queuedPerDayMax,
        },
      },
    ])
    const queued = outcomeOf(result as EnqueueResult, rid)
    if (queued.id === undefined)
      return { status: 'duplicate', rid: queued.rid, recipientQuiet: this.#agents.isQuiet(agent) }
    if (accepted.share !== undefined) this.#strangers.noteQueued(accepted.share, agent.row.number, queued.id)
    this.#polls.wake(agent.row.number)
    return { status: 'queued', rid, recipientQuiet: this.#agents.isQuiet(agent) }
  }

  /** Waiting envelopes of an agent, oldest first. */
  async poll(
    agent: Agent,
    afterId: number,
    limit: number,
  ): Promise<{ envelopes: WaitingEnvelope[]; more: boolean }> {
    const { store, now } = this.#context
    return await store.poll({
      mailbox: agent.row.number,
      afterId,
      limit,
      bytesMax: POLL_BYTES_MAX,
      nowMs: now(),
    })
  }

  /** Removes collected envelopes and keeps the confirmations for their senders. */
  async ack(agent: Agent, items: AckItem[]): Promise<{ acked: number; stored: number }> {
    const wellFormed =
      items.length >= 1 &&
      items.length <= ACK_ITEMS_MAX &&
      items.every(({ handle, dack }) =>
        handle === undefined || dack === undefined
          ? handle === dack
          : handle.length === HANDLE_BYTES && dack.length === DACK_BYTES,
      )
    if (!wellFormed) throw new Refusal('ackItemMalformed')
    const { store, blobs, now, limits } = this.#context
    const mailbox = agent.row.number
    const [result] = await store.ackMany([{ mailbox, items, keepUntilMs: now() + limits.deliveryLifeMs }])
    if (result === undefined) throw new Error('the store answered no ack')
    for (const id of result.ids) this.#strangers.noteGone(mailbox, id)
    await blobs.remove(result.files)
    return { acked: result.acked, stored: result.stored }
  }

  /** States by rid; a confirmation goes out only to who knows its handle. */
  async status(
    items: { rid: Uint8Array; handle: Uint8Array }[],
  ): Promise<{ state: DeliveryState['state']; dack: Uint8Array | undefined }[]> {
    const wellFormed =
      items.length >= 1 &&
      items.length <= STATUS_ITEMS_MAX &&
      items.every(({ rid, handle }) => rid.length === RID_BYTES && handle.length === HANDLE_BYTES)
    if (!wellFormed) throw new Refusal('statusQueryMalformed')
    const { store, now, limits } = this.#context
    const states = await store.status(items.map(item => item.rid))
    const fetched: Uint8Array[] = []
    const answers = states.map((found, index) => {
      const { rid, handle } = items[index] as { rid: Uint8Array; handle: Uint8Array }
      if (found.state !== 'done') return { state: found.state, dack: undefined }
      const { dack } = found
      const knows = dack !== undefined && found.handle !== undefined && equal(found.handle, handle)
      if (knows && !found.fetched) fetched.push(rid)
      return { state: found.state, dack: knows ? dack : undefined }
    })
    if (fetched.length > 0) await store.markFetched(fetched, now() + limits.deliveryLifeFetchedMs)
    return answers
  }

  /** Takes capabilities of an agent back. */
  async revoke(agent: Agent, capabilities: Uint8Array[]): Promise<{ revoked: number; total: number }> {
    const { store, now, limits } = this.#context
    const waitMs = this.#revokes.take(agent.row.aid, now())
    if (waitMs > 0) throw new Refusal('rateLimited', { retryAfterMs: waitMs })
    const result = await store.revoke({
      mailbox: agent.row.number,
      capabilities,
      deleteAtMs: now() + limits.revocationLifeMs,
      nowMs: now(),
      max: limits.revocationsMax,
    })
    if (result.outcome === 'full') throw new Refusal('revocationsFull')
    return { revoked: result.revoked, total: result.total }
  }

  /** Deletes what has expired; true when there is more to do. */
  async sweep(limit: number): Promise<boolean> {
    const { store, blobs, now } = this.#context
    const { envelopes, files, more } = await store.sweep(now(), limit)
    for (const { mailbox, id } of envelopes) this.#strangers.noteGone(mailbox, id)
    await blobs.remove(files)
    return more
  }
}

/** The kids of the present key set, and for a day those of the one before it. */
function kidAccepted(agent: Agent, kid: Uint8Array, nowMs: number): boolean {
  const holds = (set: KeySet | undefined): boolean => set?.body.keys.some(key => equal(key.kid, kid)) === true
  if (holds(agent.keys) && nowMs <= (agent.keys?.body.exp ?? 0)) return true
  return nowMs < agent.row.keysBeforeUntilMs && holds(agent.keysBefore)
}

function outcomeOf(result: EnqueueResult, rid: Uint8Array): { rid: Uint8Array; id: number | undefined } {
  switch (result.outcome) {
    case 'queued':
      return { rid, id: result.id }
    case 'duplicate':
      return { rid: result.rid, id: undefined }
    case 'mailboxFull':
      throw new Refusal('mailboxFull')
    case 'strangersFull':
      throw new Refusal('strangersBusy', { retryAfterMs: STRANGERS_FULL_RETRY_MS })
    case 'queuedTooOften':
      throw new Refusal('queuedTooOften')
    case 'noMailbox':
      throw new Refusal('recipientUnknown')
    default:
      throw new Refusal('accessInvalid')
  }
}
