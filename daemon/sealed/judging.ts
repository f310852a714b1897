/** One sealed envelope, opened, judged and confirmed to its sender: whoever brought it, a hub or the sender itself. */
import type { Logger } from 'pino'
import { equal } from '../../protocol/encoding/bytes.ts'
import type { VerifiedKel } from '../../protocol/identity/kel.ts'
import { messageDigest } from '../../protocol/mail/message.ts'
import { NotOpened, type OpenedMessage, timesFit } from '../../protocol/mail/open.ts'
import { nextTurn } from '../../protocol/timers.ts'
import type { Arrived, Taker } from '../carrier/carrier.ts'
import { isTimely } from '../carrier/timely.ts'
import { hubTime } from '../hubs/clocks.ts'
import type { HubClient, PolledEnvelope } from '../hubs/hub.ts'
import { count } from '../store/counters.ts'
import type { Store } from '../store/open.ts'
import type { Verdict } from '../store/seen.ts'
import type { Confirmations, Confirmed } from './confirmations.ts'
import type { Opening } from './opening.ts'
import type { ShownCredentials } from './shown-credentials.ts'

/** `acceptedAtMs`: when it was handed in, by the hub's clock. */
export type CameEnvelope = Pick<PolledEnvelope, 'source' | 'acceptedAtMs'>

type JudgingParts = {
  store: Store
  opening: Opening
  confirmations: Confirmations
  credentials: ShownCredentials
}

export class EnvelopeJudging {
  readonly #parts: JudgingParts
  readonly #log: Logger

  constructor(parts: JudgingParts, log: Logger) {
    this.#parts = parts
    this.#log = log
  }

  /** Has it taken once, and gives what tells its sender the verdict, where that can be told; throws `Malformed`. */
  async confirmed(came: CameEnvelope, hub: HubClient, by: Taker): Promise<Confirmed> {
    let opened: OpenedMessage | undefined
    try {
      const found = await this.#parts.opening.open(came)
      opened = found.opened
      const verdict = await this.#judge(opened, found.log, { hub, acceptedAtMs: came.acceptedAtMs, by })
      // whoever follows this node hears of the message before its confirmation is made
      await nextTurn()
      const { body, digest: envelopeDigest, messageDigest: digest } = opened
      return this.#parts.confirmations.of({ body, envelopeDigest, digest, verdict })
    } catch (error) {
      if (error instanceof NotOpened) return this.#confirmUnopened(error)
      throw error
    } finally {
      await opened?.close()
    }
  }

  /** Shows what it brings, and judges nothing. */
  async seen(came: CameEnvelope, see: (arrived: Arrived) => void): Promise<void> {
    const { opened, log } = await this.#parts.opening.open(came)
    await using _ = { [Symbol.asyncDispose]: () => opened.close() }
    see(this.#arrived(opened, log))
  }

  async #judge(
    opened: OpenedMessage,
    log: VerifiedKel,
    { hub, acceptedAtMs, by }: { hub: HubClient; acceptedAtMs: number; by: Taker },
  ): Promise<Verdict> {
    const { store } = this.#parts
    const { body, digest, envelope } = opened
    const arrived = this.#arrived(opened, log)
    const earlier = by.earlier(arrived)
    if (earlier !== undefined) return earlier
    if (!timesFit(envelope.expMs, body.tsMs, hubTime(hub))) return 'times'
    if (body.kelSeq < log.seq && !isTimely(hub, log, body.kelSeq, acceptedAtMs)) {
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
  #confirmUnopened(error: NotOpened): Confirmed {
    count(this.#parts.store, error.code)
    const { body, envelopeDigest } = error
    if (body === undefined || error.code === 'wrong_recipient') return {}
    const verdict = error.code === 'sender_unknown' ? 'retiredKey' : 'malformed'
    return this.#parts.confirmations.of({ body, envelopeDigest, digest: messageDigest(body), verdict })
  }

  #arrived(
    { body, messageDigest: digest, envelope, digest: envelopeDigest }: OpenedMessage,
    log: VerifiedKel,
  ): Arrived {
    const { access, expMs: untilMs } = envelope
    const credentials = this.#parts.credentials.in({ access, digest: envelopeDigest }, body)
    return { body, digest, untilMs, way: 'sealed', log, keySet: body.keySet, credentials }
  }
}
