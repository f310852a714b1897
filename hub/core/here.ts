/** Agents of this hub as destinations: whom they let in, and their mailboxes. */
import type { KeySet } from '../../protocol/identity/keyset.ts'
import type { Access } from '../../protocol/mail/access.ts'
import { isKidAccepted } from '../../protocol/mail/admission.ts'
import type { EnvelopeHead } from '../../protocol/mail/envelope.ts'
import type { EnqueueResult, Quota } from '../store/port.ts'
import type { Agent, Agents } from './agents.ts'
import type { SignerClocks } from './clocks.ts'
import type { HubContext } from './context.ts'
import { CapabilityChecks } from './credentials.ts'
import type { Destination, DestinationKind, Destinations, Offer, Sent, Taking } from './destination.ts'
import { type Content, localContents } from './envelope-body.ts'
import type { HeldPolls } from './held-polls.ts'
import { INLINE_BYTES_MAX, type Limits } from './limits.ts'
import type { ShareLimits } from './ports/shares.ts'
import { Refusal } from './refusal.ts'
import type { Sessions } from './sessions.ts'

const STRANGERS_FULL_RETRY_MS = 600_000

/** An offer whose credential holds, by the row of its recipient. */
type Accepted = {
  agent: Agent
  use: { capability: Uint8Array; perDayMax: number } | undefined
  /** Under what a first contact is counted. */
  share: string | undefined
  quota: Quota
  deleteAtMs: number
}
type Recipient = { keys: KeySet; quota: Quota }

export type HereParts = { agents: Agents; clocks: SignerClocks; sessions: Sessions; polls: HeldPolls }

export class AgentsHere implements DestinationKind, Destinations {
  readonly #context: HubContext
  readonly #parts: HereParts
  readonly #capabilities: CapabilityChecks

  constructor(context: HubContext, parts: HereParts) {
    this.#context = context
    this.#parts = parts
    this.#capabilities = new CapabilityChecks(context)
  }

  towards(home: string | undefined): Destinations | undefined {
    return home === undefined || home === this.#context.identity.aid ? this : undefined
  }

  async find(to: string): Promise<Destination | undefined> {
    const agent = await this.#parts.agents.findShown(to)
    return agent && { judge: offer => this.#judge(offer, agent) }
  }

  async #judge(offer: Offer, agent: Agent): Promise<{ taking: Taking } | { repeated: Sent }> {
    const { store, blobs, random, now, limits } = this.#context
    const deleteAtMs = Math.min(offer.head.expMs, now() + limits.envelopeLifeMs)
    const { keys, quota } = await this.#recipient(agent, offer.head)
    const credential =
      offer.access.kind === 0
        ? await this.#judgeSession(offer)
        : await this.#judgeCapability(offer.access, agent, keys, offer)
    // A small envelope under a capability is found again where it is queued; the others would cost quota or reading.
    const early = credential.sender !== undefined || offer.size >= INLINE_BYTES_MAX
    const rid = early ? await store.findQueued(agent.row.number, offer.digest) : undefined
    if (rid !== undefined) {
      const recipientQuiet = this.#parts.agents.isQuiet(agent)
      return { repeated: { status: 'duplicate', rid, recipientQuiet } }
    }
    const { sender, use } = credential
    if (sender !== undefined && offer.size > keys.body.strangers.bytes)
      throw new Refusal('tooLargeForStranger')
    const admit = async (): Promise<string | undefined> =>
      sender && (await this.#admitStranger(offer, agent, keys, sender, quota))
    // whoever only says that it is a peer takes nothing of the peer's share: its signature is known with the content
    const isSigned = offer.from === undefined
    const accepted = { agent, use, share: isSigned ? await admit() : undefined, quota, deleteAtMs }
    const taking: Taking = {
      recipient: agent.row.aid,
      sink: localContents(blobs, random),
      take: async content =>
        this.#queue(offer, isSigned ? accepted : { ...accepted, share: await admit() }, content),
      drop: content => this.#drop(content),
    }
    return { taking }
  }

  /** The recipient, if it takes what is sealed to this key. */
  async #recipient(agent: Agent, { to, kid }: EnvelopeHead): Promise<Recipient> {
    const { keys } = agent
    if (keys === undefined) throw new Refusal('recipientUnknown')
    const accepted = { keys, before: agent.keysBefore, beforeUntilMs: agent.row.keysBeforeUntilMs }
    if (!isKidAccepted(accepted, kid, this.#context.now())) throw new Refusal('kidStale')
    const { quota } = await this.#parts.agents.account(to)
    return { keys, quota }
  }

  /** A first contact that a peer hands on is its own: the session is known there, and here the peer is the sender. */
  async #judgeSession({
    session,
    digest,
    accessBytes,
    from,
  }: Offer): Promise<{ sender: string; use: undefined }> {
    if (from !== undefined) return { sender: from, use: undefined }
    if (session === undefined) throw new Refusal('sessionInvalid')
    const { aid } = await this.#parts.sessions.judge(session, digest, accessBytes)
    return { sender: aid, use: undefined }
  }

  async #judgeCapability(
    access: Extract<Access, { kind: 1 }>,
    agent: Agent,
    keys: KeySet,
    { digest, size }: Offer,
  ): Promise<{ sender: undefined; use: { capability: Uint8Array; perDayMax: number } }> {
    const recipient = { mailbox: agent.row.number, aid: agent.row.aid, keys }
    const body = await this.#capabilities.judge(access, recipient, { digest, size })
    return { sender: undefined, use: { capability: body.id, perDayMax: body.usesPerDayMax } }
  }

  /** Limits for first contacts; returns the share under which this one is counted. */
  async #admitStranger(
    { from }: Offer,
    agent: Agent,
    keys: KeySet,
    sender: string,
    quota: Quota,
  ): Promise<string> {
    const { limits, now, memory } = this.#context
    const wished = keys.body.strangers
    const taken = await memory.shares.take({
      sender,
      mailbox: agent.row.number,
      nowMs: now(),
      limits: from === undefined ? sharesOfAgent(limits, quota, wished.perDay) : sharesOfPeer(limits, quota),
    })
    if (taken.outcome !== 'taken') {
      const code = taken.outcome === 'senderFull' ? 'rateLimited' : 'strangersBusy'
      throw new Refusal(code, { retryAfterMs: taken.waitMs })
    }
    this.#parts.clocks.note(now())
    return taken.share
  }

  /** Judges an accepted offer by the newest row of its recipient; what it was counted for is not counted again. */
  async #judgeAnew(offer: Offer, accepted: Accepted): Promise<Accepted> {
    const agent = await this.#parts.agents.findShown(offer.head.to)
    if (agent === undefined) throw new Refusal('recipientUnknown')
    const { keys, quota } = await this.#recipient(agent, offer.head)
    if (offer.access.kind === 1) await this.#judgeCapability(offer.access, agent, keys, offer)
    else if (offer.size > keys.body.strangers.bytes) throw new Refusal('tooLargeForStranger')
    return { ...accepted, agent, quota }
  }

  /** Queues an accepted envelope whose content has been read and checked. */
  async #queue(offer: Offer, first: Accepted, content: Content): Promise<Sent> {
    const { memory } = this.#context
    const { agents, polls } = this.#parts
    let accepted = first
    let left = content
    const written = await agents.judged(async isAgain => {
      if (isAgain) accepted = await this.#judgeAnew(offer, accepted)
      const result = await this.#enqueue(offer, accepted, left)
      if (result.outcome === 'moved') left = { ...left, content: result.content }
      return { outcome: result.outcome, by: [accepted.agent.row], result }
    })
    const { rid, id } = outcomeOf(written.result)
    const { agent, share } = accepted
    const mailbox = agent.row.number
    const recipientQuiet = agents.isQuiet(agent)
    if (id === undefined) return { status: 'duplicate', rid, recipientQuiet }
    if (share !== undefined) await memory.shares.noteQueued({ share, mailbox, id })
    polls.wake(mailbox)
    return { status: 'queued', rid, recipientQuiet }
  }

  #enqueue(
    { digest }: Offer,
    { agent, share, use, quota, deleteAtMs }: Accepted,
    { size, content, file }: Content,
  ): Promise<EnqueueResult> {
    const { store, limits, now } = this.#context
    return store.enqueue({
      mailbox: agent.row.number,
      judgedBy: agent.row.version,
      digest,
      nowMs: now(),
      deleteAtMs,
      size,
      stranger: share !== undefined,
      content,
      file,
      use,
      limits: {
        envelopesMax: quota.envelopesMax ?? limits.mailboxEnvelopesMax,
        bytesMax: quota.bytesMax ?? limits.mailboxBytesMax,
        strangerEnvelopesMax: quota.strangerEnvelopesMax ?? limits.strangerEnvelopesMax,
        strangerBytesMax: quota.strangerBytesMax ?? limits.strangerBytesMax,
        timesPerDayMax: limits.queuedPerDayMax,
      },
    })
  }

  /** Removes a file unless a row names it after all, as after a commit whose answer was lost. */
  async #drop({ file }: Content): Promise<void> {
    const { store, blobs } = this.#context
    if (file === undefined || (await store.health()).broken) return
    await blobs.remove(await store.unusedFiles([file]))
  }
}

const sharesOfAgent = (limits: Limits, quota: Quota, perDay: number): ShareLimits => ({
  sentPerDay: limits.sessionQuota,
  perMinute: quota.strangerPerMinute ?? limits.strangerPerMinute,
  senderPerMinute: limits.senderPerMinuteMax,
  senderPerDay: perDay,
  senderWaiting: limits.senderWaitingMax,
})

/** Whoever stands behind a peer is not known here, so all of them together have half of a mailbox's room. */
function sharesOfPeer(limits: Limits, quota: Quota): ShareLimits {
  const perMinute = quota.strangerPerMinute ?? limits.strangerPerMinute
  const waiting = quota.strangerEnvelopesMax ?? limits.strangerEnvelopesMax
  return {
    sentPerDay: Number.MAX_SAFE_INTEGER,
    perMinute,
    senderPerMinute: Math.max(1, Math.floor(perMinute / 2)),
    senderPerDay: Number.MAX_SAFE_INTEGER,
    senderWaiting: Math.max(1, Math.floor(waiting / 2)),
  }
}

function outcomeOf(result: EnqueueResult): { rid: Uint8Array; id: number | undefined } {
  switch (result.outcome) {
    case 'queued':
      return { rid: result.rid, id: result.id }
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
