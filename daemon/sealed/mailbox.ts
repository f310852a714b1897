/**
 * Collecting sealed mail: a held poll, each envelope opened and judged in id order, then acked with its delivery
 * confirmation. What is acked is stored; what is not acked comes again and is recognized.
 */
import { equal, Malformed } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import type { VerifiedKel } from '../../protocol/identity/kel.ts'
import { witnessedAt } from '../../protocol/identity/kel-witness.ts'
import { KeyStateNotice, noticeAgrees, noticeIsOf } from '../../protocol/identity/keyset.ts'
import { decodeAccess } from '../../protocol/mail/access.ts'
import { CapabilityBody } from '../../protocol/mail/capability.ts'
import { type MessageBody, messageDigest } from '../../protocol/mail/message.ts'
import { Damaged, NotOpened, type OpenedMessage, timesFit } from '../../protocol/mail/open.ts'
import { nextTurn } from '../../protocol/timers.ts'
import type { Arrived, Collected, Collecting, Credentials, Looked, Taker } from '../carrier/carrier.ts'
import type { Ground } from '../context.ts'
import { hubTime } from '../hubs/clocks.ts'
import type { AckItem, HubClient, PolledEnvelope, PollReply, SealedMail } from '../hubs/hub.ts'
import { learnHubKey } from '../hubs/log.ts'
import { genuineGrants } from '../peers/stock.ts'
import { faultPoint } from '../platform/faults.ts'
import { count } from '../store/counters.ts'
import type { Verdict } from '../store/seen.ts'
import { confirmation } from './confirmations.ts'
import type { Directory } from './directory.ts'
import { openPolled } from './opening.ts'

/** So often is an envelope fetched whose bytes are not those that the hub took. */
const DAMAGED_MAX = 3
const DAMAGED_KEPT = 1000
/** A message accepted this long after the successor event was witnessed may still carry the older key. */
const RETIRED_GRACE_MS = 5 * 60_000

type Needs = Pick<
  Ground,
  'identity' | 'keys' | 'peers' | 'capabilities' | 'threads' | 'store' | 'log' | 'now' | 'random'
> & { directory: Directory }

export class Mailbox {
  readonly #ctx: Needs
  readonly #hub: HubClient
  readonly #mail: SealedMail
  /** Envelopes that came damaged, by their number at the hub, and how often. */
  readonly #damaged = new Map<number, number>()

  constructor(ctx: Needs, hub: HubClient, mail: SealedMail) {
    this.#ctx = ctx
    this.#hub = hub
    this.#mail = mail
  }

  /** Works through one drain of the mailbox: the first answer held as asked, then until nothing is left. */
  async collect({ waitMs, signal }: Collecting, by: Taker): Promise<Collected> {
    let taken = 0
    let held = false
    let after: number | undefined
    for (;;) {
      using reply = await this.#poll({ waitMs: after === undefined ? waitMs : 0, signal, after })
      held ||= reply.held
      if (reply.notice !== undefined) await this.#checkNotice(reply.notice)
      const acks: AckItem[] = []
      for (const polled of reply.envelopes) {
        const ack = await this.#take(polled, by)
        if (ack !== undefined) acks.push(ack)
        after = Math.max(after ?? 0, polled.id)
        taken += 1
      }
      faultPoint('node.receive.before-ack')
      await this.#mail.ack(acks)
      faultPoint('node.receive.after-ack')
      if (!reply.more) return { taken, held }
    }
  }

  /** Reads one answer of the mailbox and leaves what is there. */
  async look(
    { waitMs, signal, after }: Collecting & { after?: number | undefined },
    see: (arrived: Arrived) => void,
  ): Promise<Looked> {
    using reply = await this.#poll({ waitMs, signal, after })
    let last = after
    for (const polled of reply.envelopes) {
      await this.#see(polled, see)
      last = Math.max(last ?? 0, polled.id)
    }
    return { taken: reply.envelopes.length, held: reply.held, more: reply.more, after: last }
  }

  #poll({ waitMs, signal, after }: Collecting & { after?: number | undefined }): Promise<PollReply> {
    const waitSeconds = Math.ceil(waitMs / 1000)
    return this.#mail.poll({ waitSeconds, ...present({ afterId: after }), signal })
  }

  async #see(polled: PolledEnvelope, see: (arrived: Arrived) => void): Promise<void> {
    try {
      const { opened, log } = await openPolled(this.#ctx, polled)
      await using _ = { [Symbol.asyncDispose]: () => opened.close() }
      see(arrivedOf(this.#ctx, opened, log))
    } catch (error) {
      // the mail is judged when it is taken
      if (!(error instanceof NotOpened) && !(error instanceof Malformed)) throw error
    }
  }

  /** The hub's signed word on our own key state; a head that is not ours is shown as a warning. */
  async #checkNotice(encoded: Uint8Array): Promise<void> {
    const { identity, store, log } = this.#ctx
    const hub = this.#hub
    try {
      const notice = KeyStateNotice.decode(encoded)
      await learnHubKey(hub, notice.body.hubSeq)
      // what it did not sign says nothing of it: a bit was another one on its way
      if (!noticeIsOf(notice, hub.identity.log)) return
      if (notice.body.seq !== identity.log.seq || noticeAgrees(notice, identity.log, hub.identity.log)) return
      count(store, 'notice_differs')
      log.warn({ seq: notice.body.seq }, 'the hub shows another key state for this identity')
    } catch (error) {
      if (!(error instanceof Malformed)) throw error
    }
  }

  /**
   * One envelope from bytes to its ack; whatever is wrong with it, the next one is not held up. One that was damaged on its
   * way has none at first, and comes again.
   */
  async #take(polled: PolledEnvelope, by: Taker): Promise<AckItem | undefined> {
    let opened: OpenedMessage | undefined
    try {
      const found = await openPolled(this.#ctx, polled)
      opened = found.opened
      const verdict = await this.#judge(opened, found.log, polled.acceptedAtMs, by)
      this.#damaged.delete(polled.id)
      // whoever follows this node hears of the message before its confirmation is made
      await nextTurn()
      const { body, digest: envelopeDigest, messageDigest: digest } = opened
      return confirmation(this.#ctx, polled.id, { body, envelopeDigest, digest, verdict })
    } catch (error) {
      if (error instanceof NotOpened) return this.#confirmUnopened(polled.id, error)
      if (!(error instanceof Malformed)) throw error
      if (error instanceof Damaged && this.#comesAgain(polled.id)) return undefined
      count(this.#ctx.store, 'malformed')
      this.#ctx.log.info({ id: polled.id, reason: error.message }, 'envelope refused')
      return { id: polled.id }
    } finally {
      await opened?.close()
    }
  }

  #comesAgain(id: number): boolean {
    const times = (this.#damaged.get(id) ?? 0) + 1
    // a hub may name as many as it likes
    if (this.#damaged.size >= DAMAGED_KEPT) this.#damaged.clear()
    if (times >= DAMAGED_MAX) this.#damaged.delete(id)
    else this.#damaged.set(id, times)
    return times < DAMAGED_MAX
  }

  async #judge(opened: OpenedMessage, log: VerifiedKel, acceptedAt: number, by: Taker): Promise<Verdict> {
    const { store } = this.#ctx
    const { body, digest, envelope } = opened
    const arrived = arrivedOf(this.#ctx, opened, log)
    const earlier = by.earlier(arrived)
    if (earlier !== undefined) return earlier
    if (!timesFit(envelope.expMs, body.tsMs, hubTime(this.#hub))) return 'times'
    if (body.kelSeq < log.seq && !isTimely(this.#hub, log, body.kelSeq, acceptedAt)) {
      count(store, 'retired_key')
      by.showRetired(arrived)
      return 'retiredKey'
    }
    if (body.kelSeq === log.seq && !equal(body.kelHeadDigest, log.headDigest)) {
      count(store, 'peer_forks')
      return 'retiredKey'
    }
    this.#ctx.log.debug({ kind: body.kind, digest: Buffer.from(digest).toString('hex') }, 'message')
    return by.take(arrived, opened)
  }

  /** An envelope that decrypts but whose sender's key is not known here is confirmed, so that it comes again with it. */
  #confirmUnopened(id: number, error: NotOpened): AckItem {
    count(this.#ctx.store, error.code)
    const { body, envelopeDigest } = error
    if (body === undefined || error.code === 'wrong_recipient') return { id }
    const verdict = error.code === 'sender_unknown' ? 'retiredKey' : 'malformed'
    return confirmation(this.#ctx, id, { body, envelopeDigest, digest: messageDigest(body), verdict })
  }
}

function arrivedOf(ctx: Needs, { body, messageDigest: digest, envelope }: OpenedMessage, log: VerifiedKel) {
  const { access, expMs: untilMs } = envelope
  const credentials = credentialsIn(ctx, access, body)
  return { body, digest, untilMs, way: 'sealed', log, keySet: body.keySet, credentials } satisfies Arrived
}

/** A spent capability is gone from the sender's stock; a first-contact envelope says that its stock is empty. */
export function credentialsIn(
  { capabilities, peers, threads }: Pick<Needs, 'capabilities' | 'peers' | 'threads'>,
  access: Uint8Array,
  { from, capabilities: granted }: MessageBody,
): Credentials {
  return {
    came() {
      const record = decodeAccess(access)
      if (record.kind === 1) capabilities.noteUse(CapabilityBody.decode(record.capabilityBody).id)
      else capabilities.forgetIssued(from)
    },
    taken() {
      if (granted === undefined) return
      capabilities.accept(from, genuineGrants(peers.find(from)?.keys, granted))
      threads.hurry(from)
    },
  }
}

/** Whether our hub took the message before, or shortly after, it witnessed the event that retired the key. */
function isTimely(hub: HubClient, log: VerifiedKel, kelSeq: number, acceptedAt: number): boolean {
  const successor = witnessedAt(log, kelSeq + 1, hub.identity.log)
  return successor !== undefined && acceptedAt < successor + RETIRED_GRACE_MS
}
