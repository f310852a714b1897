/**
 * Collecting sealed mail: a held poll, each envelope judged in id order, then acked with its delivery confirmation. What is
 * acked is stored; what is not acked comes again and is recognized.
 */
import type { Logger } from 'pino'
import { Malformed } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { Damaged, NotOpened } from '../../protocol/mail/open.ts'
import type { Arrived, Collected, Collecting, Looked, Taker } from '../carrier/carrier.ts'
import type { AckItem, HubClient, OtherPolls, PolledEnvelope, PollReply, SealedMail } from '../hubs/hub.ts'
import { faultPoint } from '../platform/faults.ts'
import { count } from '../store/counters.ts'
import type { Store } from '../store/open.ts'
import type { EnvelopeJudging } from './judging.ts'
import type { KeyNotices } from './key-notices.ts'

/** So often is an envelope fetched whose bytes are not those that the hub took. */
const DAMAGED_MAX = 3
const DAMAGED_KEPT = 1000

/** A hub that carries sealed mail. */
export type SealedHub = { hub: HubClient; mail: SealedMail }

export type MailboxParts = {
  store: Store
  judging: EnvelopeJudging
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
      await this.#parts.judging.seen(polled, see)
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
    const { id } = polled
    const { store, judging } = this.#parts
    try {
      const confirmed = await judging.confirmed(polled, this.#hub, by)
      this.#damaged.delete(id)
      return { id, ...confirmed }
    } catch (error) {
      if (!(error instanceof Malformed)) throw error
      if (error instanceof Damaged && this.#comesAgain(id)) return undefined
      count(store, 'malformed')
      this.#log.info({ id, reason: error.message }, 'envelope refused')
      return { id }
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
}
