/** Envelopes opened: under the keys of our mailbox, with the log of whoever wrote them. */
import { keyAt, type VerifiedKel } from '../../protocol/identity/kel.ts'
import type { MessageBody } from '../../protocol/mail/message.ts'
import { type OpenedMessage, openEnvelope } from '../../protocol/mail/open.ts'
import { foundIn } from '../carrier/lookup.ts'
import type { PolledEnvelope } from '../hubs/hub.ts'
import type { Identity } from '../identity/identity.ts'
import type { MailboxKeys } from '../identity/mailbox-keys.ts'
import { isUnusable, type PeerBook } from '../peers/peers.ts'
import type { Directory } from './directory.ts'

type OpeningParts = { identity: Identity; keys: MailboxKeys; peers: PeerBook; directory: Directory }

export class Opening {
  readonly #parts: OpeningParts

  constructor(parts: OpeningParts) {
    this.#parts = parts
  }

  /** Opens one envelope; refused with `NotOpened` or `Malformed`. */
  async open(polled: Pick<PolledEnvelope, 'source'>): Promise<{ opened: OpenedMessage; log: VerifiedKel }> {
    const { identity, keys } = this.#parts
    let log: VerifiedKel | undefined
    const opened = await openEnvelope({
      source: polled.source,
      recipient: identity.aid,
      seedOf: kid => keys.seedOf(kid),
      senderKey: async body => {
        log = await this.#senderLog(body)
        return log === undefined || body.kelSeq > log.seq ? undefined : keyAt(log, body.kelSeq)
      },
    })
    return { opened, log: log as VerifiedKel }
  }

  /**
   * The sender's log: its own words merged with what is held, or the directory where those are not enough. One that the
   * directory does not give, for whatever reason, comes with the message when that is sent again.
   */
  async #senderLog(body: MessageBody): Promise<VerifiedKel | undefined> {
    const { peers, directory } = this.#parts
    try {
      if (body.kel !== undefined) return peers.merge(body.from, body.kel)
      const held = peers.find(body.from)?.log
      if (held !== undefined && held.seq >= body.kelSeq) return held
      return foundIn(await directory.lookup(body.from))?.log
    } catch (error) {
      if (isUnusable(error)) return undefined
      throw error
    }
  }
}
