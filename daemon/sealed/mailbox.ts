/**
 * Collecting sealed mail: a held poll, each envelope opened and judged in id order, then acked with its delivery
 * confirmation. What is acked is stored; what is not acked comes again and is recognized.
 */
import type { Logger } from 'pino'
import { equal, Malformed } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import type { VerifiedKel } from '../../protocol/identity/kel.ts'
import { messageDigest } from '../../protocol/mail/message.ts'
import { Damaged, NotOpened, type OpenedMessage, timesFit } from '../../protocol/mail/open.ts'
import { nextTurn } from '../../protocol/timers.ts'
import type { Arrived, Collected, Collecting, Looked, Taker } from '../carrier/carrier.ts'
import { isTimely } from '../carrier/timely.ts'
import { hubTime } from '../hubs/clocks.ts'
import type { AckItem, HubClient, OtherPolls, PolledEnvelope, PollReply, SealedMail } from '../hubs/hub.ts'
import { faultPoint } from '../platform/faults.ts'
import { count } from '../store/counters.ts'
import type { Store } from '../store/open.ts'
import type { Verdict } from '../store/seen.ts'
import type { Confirmations } from './confirmations.ts'
import type { KeyNotices } from './key-notices.ts'
import type { Opening } from './opening.ts'
import type { ShownCredentials } from './shown-credentials.ts'

/** So often is an envelope fetched whose bytes are not those that the hub took. */
const DAMAGED_MAX = 3
const DAMAGED_KEPT = 1000

/** A hub that carries sealed mail. */
export type SealedHub = { hub: HubClient; mail: SealedMail }

export type MailboxParts = {
  store: Store
  opening: Opening
  confirmations: Confirmations
  credentials: ShownCredentials
  keyNotices: KeyNotices
}

export class Mailbox {
  readonly #parts: MailboxParts
  readonly #log: Logger
  readonly #hub: HubClient
  readonly #mail: SealedMail
  /** Envelopes that came damaged, by their number at the hub, and how often. */
  readonly #damaged = new Map<number, number>()

  constructor(parts: MailboxParts, { hub, mail }: SealedHub, log: Logger) {
    this.#parts = parts
    this.#log = log
    this.#hub = hub
    this.#mail = mail
  }

  /** Works through one drain of the mailbox: the first answer held as asked, then until nothing is left. */
  async collect({ waitMs, signal }: Collecting, by: Taker): Promise<Collected> {
    const { keyNotices } = this.#parts
    let taken = 0
    let held = false
    let others: OtherPolls | undefined
    let after: number | undefined
    for (;;) {
      using reply = await this.#poll({ waitMs: after === undefined ? waitMs : 0, signal, after })
      held ||= reply.held
      others ??= reply.others
      if (reply.notice !== undefined) await keyNotices.check(this.#hub, reply.notice)
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
      if (!reply.more) return { taken, held, ...present({ others }) }
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
    const { held, more, others } = reply
    return { taken: reply.envelopes.length, held, more, after: last, ...present({ others }) }
  }

  #poll({ waitMs, signal, after }: Collecting & { after?: number | undefined }): Promise<PollReply> {
    const waitSeconds = Math.ceil(waitMs / 1000)
    return this.#mail.poll({ waitSeconds, ...present({ afterId: after }), signal })
  }

  async #see(polled: PolledEnvelope, see: (arrived: Arrived) => void): Promise<void> {
    try {
      const { opened, log } = await this.#parts.opening.open(polled)
      await using _ = { [Symbol.asyncDispose]: () => opened.close() }
      see(this.#arrived(opened, log))
    } catch (error) {
      // the mail is judged when it is taken
      if (!(error instanceof NotOpened) && !(error instanceof Malformed)) throw error
    }
  }

  /**
   * One envelope from bytes to its ack; whatever is wrong with it, the next one is not held up. One that was damaged on its
   * way has none at first, and comes again.
   */
  async #take(polled: PolledEnvelope, by: Taker): Promise<AckItem | undefined> {
    let opened: OpenedMessage | undefined
    try {
      const found = await this.#parts.opening.open(polled)
      opened = found.opened
      const verdict = await this.#judge(opened, found.log, polled.acceptedAtMs, by)
      this.#damaged.delete(polled.id)
      // whoever follows this node hears of the message before its confirmation is made
      await nextTurn()
      const { body, digest: envelopeDigest, messageDigest: digest } = opened
      return this.#parts.confirmations.of(polled.id, { body, envelopeDigest, digest, verdict })
    } catch (error) {
      if (error instanceof NotOpened) return this.#confirmUnopened(polled.id, error)
      if (!(error instanceof Malformed)) throw error
      if (error instanceof Damaged && this.#comesAgain(polled.id)) return undefined
      count(this.#parts.store, 'malformed')
      this.#log.info({ id: polled.id, reason: error.message }, 'envelope refused')
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
    const { store } = this.#parts
    const { body, digest, envelope } = opened
    const arrived = this.#arrived(opened, log)
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
    this.#log.debug({ kind: body.kind, digest: Buffer.from(digest).toString('hex') }, 'message')
    return by.take(arrived, opened)
  }

  /** An envelope that decrypts but whose sender's key is not known here is confirmed, so that it comes again with it. */
  #confirmUnopened(id: number, error: NotOpened): AckItem {
    count(this.#parts.store, error.code)
    const { body, envelopeDigest } = error
    if (body === undefined || error.code === 'wrong_recipient') return { id }
    const verdict = error.code === 'sender_unknown' ? 'retiredKey' : 'malformed'
    return this.#parts.confirmations.of(id, { body, envelopeDigest, digest: messageDigest(body), verdict })
  }

  #arrived({ body, messageDigest: digest, envelope }: OpenedMessage, log: VerifiedKel): Arrived {
    const { access, expMs: untilMs } = envelope
    const credentials = this.#parts.credentials.in(access, body)
    return { body, digest, untilMs, way: 'sealed', log, keySet: body.keySet, credentials }
  }
}
