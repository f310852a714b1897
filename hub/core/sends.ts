/**
 * Taking an envelope in (hub API §4.1): everything that its head and headers decide comes first, then its content is
 * read and kept, then it is queued. Nothing of a refused one stays.
 */
import { equal } from '../../protocol/encoding/bytes.ts'
import type { KeySet } from '../../protocol/identity/keyset.ts'
import type { Access } from '../../protocol/mail/access.ts'
import { type EnvelopeHead, EXP_AHEAD_MS, EXP_SKEW_MS } from '../../protocol/mail/envelope.ts'
import { type EnqueueResult, type Quota, StoreFull } from '../store/port.ts'
import type { Agent, Agents } from './agents.ts'
import type { SignerClocks } from './clocks.ts'
import type { HubContext } from './context.ts'
import { Capabilities } from './credentials.ts'
import { type ByteSource, type Content, readEnvelopeHead } from './envelope-body.ts'
import type { HeldPolls } from './held-polls.ts'
import { INLINE_BYTES_MAX } from './limits.ts'
import { Refusal } from './refusal.ts'
import { RoomWatch } from './room-watch.ts'
import type { Sessions, SessionUse } from './sessions.ts'

/** So much free space takes mail again; the largest envelopes need more. */
const ROOM_FOR_FILES_BYTES = 16 * 1024 * 1024
/** Rows of a large inline envelope, with what indexes and tombstones add. */
const ROOM_FOR_ROWS_BYTES = 4 * INLINE_BYTES_MAX
const STRANGERS_FULL_RETRY_MS = 600_000

/** What a sender shows, and where the envelope itself comes from. */
export type Submission = {
  /** The credential that came beside the envelope; byte-equal to the one in its head. */
  access: Access
  accessBytes: Uint8Array
  session: SessionUse | undefined
  source: ByteSource
  /** Length of the envelope where the sender said it beforehand. */
  declared: number | undefined
}

export type Sent = { status: 'queued' | 'duplicate'; rid: Uint8Array; recipientQuiet: boolean }

/** What head and headers decide together. */
type Offer = Omit<Submission, 'source' | 'declared'> & {
  head: EnvelopeHead
  digest: Uint8Array
  size: number
}

/** An offer whose credential holds: its content may be read now. */
type Accepted = {
  digest: Uint8Array
  agent: Agent
  deleteAtMs: number
  use: { capability: Uint8Array; perDayMax: number } | undefined
  /** Under what a first contact is counted. */
  share: string | undefined
  quota: Quota
}

export type SendsParts = {
  agents: Agents
  clocks: SignerClocks
  sessions: Sessions
  polls: HeldPolls
}

export class Sends {
  readonly #context: HubContext
  readonly #parts: SendsParts
  readonly #capabilities: Capabilities
  readonly #room: RoomWatch

  constructor(context: HubContext, parts: SendsParts) {
    this.#context = context
    this.#parts = parts
    this.#capabilities = new Capabilities(context)
    this.#room = new RoomWatch({ alert: context.alert, now: context.now, hasRoom: () => this.#hasRoom() })
  }

  /** Takes one envelope, or says under which id the very same one waits already. */
  async send({ source, declared, ...credential }: Submission): Promise<Sent> {
    const { blobs, random, limits } = this.#context
    const body = await readEnvelopeHead(source, declared)
    if (body.size > limits.envelopeBytesMax)
      throw new Refusal('tooLarge', { limitBytes: limits.envelopeBytesMax })
    const judged = await this.#judge({ ...credential, head: body.head, digest: body.digest, size: body.size })
    if ('repeated' in judged) return judged.repeated
    source.accept(judged.accepted.agent.row.aid)
    try {
      const sent = await this.#keep(judged.accepted, await body.read(blobs, random))
      this.#room.taken()
      return sent
    } catch (error) {
      if (!(error instanceof StoreFull)) throw error
      this.#room.refused()
      throw new Refusal('mailboxFull')
    }
  }

  /** Looks whether mail that was refused for want of room would be taken now. */
  async lookForRoom(): Promise<void> {
    await this.#room.look()
  }

  /** Mail is refused for want of room, although what makes room may still be written. */
  get isShortOfRoom(): boolean {
    return this.#room.isShort
  }

  close(): void {
    this.#room.close()
  }

  /** Whether mail would find room; the write shows what the figures don't. */
  async #hasRoom(): Promise<boolean> {
    const { store, now } = this.#context
    const room = await store.local?.room()
    if (room !== undefined && (room.disk < ROOM_FOR_FILES_BYTES || room.rows < ROOM_FOR_ROWS_BYTES))
      return false
    await store.putSetting('room seen', String(now()))
    return true
  }

  /** Queues an accepted envelope; a file that no row names after that is removed. */
  async #keep(accepted: Accepted, content: Content): Promise<Sent> {
    let queued = false
    try {
      const sent = await this.#queue(accepted, content)
      queued = sent.status === 'queued'
      return sent
    } finally {
      if (!queued && content.file !== undefined) await this.#removeUnused(content.file)
    }
  }

  /** Removes a file unless a row names it after all, as after a commit whose answer was lost. */
  async #removeUnused(file: string): Promise<void> {
    const { store, blobs } = this.#context
    if ((await store.health()).broken) return
    await blobs.remove(await store.unusedFiles([file]))
  }

  /** Settles everything that head and headers decide: an accepted offer, or the answer to a repeat. */
  async #judge(offer: Offer): Promise<{ accepted: Accepted } | { repeated: Sent }> {
    const { now, store, limits } = this.#context
    const { agents } = this.#parts
    const nowMs = now()
    const { head, digest } = offer
    if (!equal(head.access, offer.accessBytes))
      throw new Refusal('envelopeMalformed', { why: 'its key 7 differs from the credential sent with it' })
    if (head.expMs <= nowMs) throw new Refusal('expired')
    if (head.expMs > nowMs + EXP_AHEAD_MS + EXP_SKEW_MS) throw new Refusal('expiryTooFar')
    const agent = await agents.findRegistered(head.to)
    const keys = agent?.keys
    if (agent === undefined || keys === undefined) throw new Refusal('recipientUnknown')
    if (!kidAccepted(agent, head.kid, nowMs)) throw new Refusal('kidStale')
    const { quota } = await agents.account(head.to)
    const credential =
      offer.access.kind === 0
        ? await this.#judgeSession(offer)
        : await this.#judgeCapability(offer.access, agent, keys, offer)
    // A small envelope under a capability is found again where it is queued; the others would cost quota or reading.
    const early = credential.sender !== undefined || offer.size >= INLINE_BYTES_MAX
    const first = early ? await store.findQueued(agent.row.number, digest) : undefined
    if (first !== undefined) {
      return { repeated: { status: 'duplicate', rid: first, recipientQuiet: agents.isQuiet(agent) } }
    }
    const share =
      credential.sender && (await this.#admitStranger(offer, agent, keys, credential.sender, quota))
    const deleteAtMs = Math.min(head.expMs, nowMs + limits.envelopeLifeMs)
    return { accepted: { digest, agent, deleteAtMs, use: credential.use, share, quota } }
  }

  async #judgeSession({ session, digest, accessBytes }: Offer): Promise<{ sender: string; use: undefined }> {
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
    { size }: Offer,
    agent: Agent,
    keys: KeySet,
    sender: string,
    quota: Quota,
  ): Promise<string> {
    const { limits, now, memory } = this.#context
    const wished = keys.body.strangers
    if (size > wished.bytes) throw new Refusal('tooLargeForStranger')
    const taken = await memory.shares.take({
      sender,
      mailbox: agent.row.number,
      nowMs: now(),
      limits: {
        sentPerDay: limits.sessionQuota,
        perMinute: quota.strangerPerMinute ?? limits.strangerPerMinute,
        senderPerMinute: limits.senderPerMinuteMax,
        senderPerDay: wished.perDay,
        senderWaiting: limits.senderWaitingMax,
      },
    })
    if (taken.outcome !== 'taken') {
      const code = taken.outcome === 'senderFull' ? 'rateLimited' : 'strangersBusy'
      throw new Refusal(code, { retryAfterMs: taken.waitMs })
    }
    this.#parts.clocks.note(now())
    return taken.share
  }

  /** Queues an accepted envelope whose content has been read and checked. */
  async #queue(accepted: Accepted, content: Content): Promise<Sent> {
    const { store, memory, limits, now } = this.#context
    const { agents, polls } = this.#parts
    const { agent, quota, share } = accepted
    const mailbox = agent.row.number
    const result = await store.enqueue({
      mailbox,
      digest: accepted.digest,
      nowMs: now(),
      deleteAtMs: accepted.deleteAtMs,
      size: content.size,
      stranger: share !== undefined,
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
    })
    const { rid, id } = outcomeOf(result)
    const recipientQuiet = agents.isQuiet(agent)
    if (id === undefined) return { status: 'duplicate', rid, recipientQuiet }
    if (share !== undefined) await memory.shares.noteQueued({ share, mailbox, id })
    polls.wake(mailbox)
    return { status: 'queued', rid, recipientQuiet }
  }
}

/** The kids of the present key set, and for a day those of the one before it. */
function kidAccepted(agent: Agent, kid: Uint8Array, nowMs: number): boolean {
  const holds = (set: KeySet | undefined): boolean => set?.body.keys.some(key => equal(key.kid, kid)) === true
  if (holds(agent.keys) && nowMs <= (agent.keys?.body.exp ?? 0)) return true
  return nowMs < agent.row.keysBeforeUntilMs && holds(agent.keysBefore)
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
    case 'moved':
      throw new Refusal('overloaded')
    case 'queuedTooOften':
      throw new Refusal('queuedTooOften')
    case 'noMailbox':
      throw new Refusal('recipientUnknown')
    default:
      throw new Refusal('accessInvalid')
  }
}
