/** Messages as open letters: written under the present key of this node, read under that of their sender (objects: wire 1). */
import { cidText } from '../../protocol/crypto/hash.ts'
import { concat, Malformed, toBase64url } from '../../protocol/encoding/bytes.ts'
import { type KeyEvent, keyAt, type VerifiedKel } from '../../protocol/identity/kel.ts'
import { type MessageBody, messageDigest } from '../../protocol/mail/message.ts'
import {
  decodeOpen,
  encodeOpen,
  holdsOpen,
  type OpenMessage,
  signOpen,
} from '../../protocol/mail/open-message.ts'
import { kinds } from '../../protocol/mail/payload.ts'
import type { Attachments } from '../attachments/attachments.ts'
import type { ArrivingFiles } from '../carrier/carrier.ts'
import { headOf } from '../carrier/head.ts'
import type { HubClient } from '../hubs/hub.ts'
import { learnHubKey } from '../hubs/log.ts'
import type { OpenKind, OpenLetter, PolledLetter } from '../hubs/open-mail.ts'
import type { Identity } from '../identity/identity.ts'
import { isUnusable, type PeerBook } from '../peers/peers.ts'
import type { OutboxEntry } from '../store/outbox.ts'
import type { Threads } from '../store/threads.ts'
import { logAt } from './logs.ts'

const PIECE_BYTES = 64 * 1024

/** How a relay names a message to whoever cannot read it. */
export const relayKindOf = (kind: number): OpenKind => {
  if (kind === kinds.delegate) return 'delegate'
  return kind === kinds.result ? 'result' : 'message'
}

/** A letter with the head that it carries, and the digest of that. */
export type WrittenLetter = { letter: OpenLetter; body: MessageBody; digest: Uint8Array }

type WritingParts = {
  identity: Identity
  threads: Threads
  attachments: Attachments
  hubNow: () => number
}

export class Writing {
  readonly #parts: WritingParts

  constructor(parts: WritingParts) {
    this.#parts = parts
  }

  /** Bytes of the files of a message, which are known before any is read. */
  filesOf(entry: OutboxEntry): number {
    return this.#parts.threads.attachmentsOf(entry.message).reduce((sum, { size }) => sum + size, 0)
  }

  /** A message of the outbox under the present key, with its digest; id, number and digest are those of before. */
  async letter(entry: OutboxEntry): Promise<WrittenLetter> {
    const { identity, attachments } = this.#parts
    const body = headOf(this.#parts, entry)
    const contents: Uint8Array[] = []
    for (const { cid } of body.attachments) {
      const pieces: Uint8Array[] = []
      for await (const piece of attachments.read(cidText(cid))()) pieces.push(new Uint8Array(piece))
      contents.push(concat(...pieces))
    }
    const letter = {
      to: entry.peer,
      from: identity.aid,
      kind: relayKindOf(body.kind),
      interaction: body.interactionId === undefined ? '' : toBase64url(body.interactionId),
      payload: encodeOpen(signOpen(identity.seed, body, contents)),
    }
    return { letter, body, digest: messageDigest(body) }
  }
}

/** A letter whose signature held, with the log of its sender. */
export type ReadLetter = { open: OpenMessage; log: VerifiedKel }

/** The sender's key is not known at the hub, or not yet. */
export class SenderUnknown extends Malformed {
  override name = 'SenderUnknown'
}

export class Reading {
  /** An identity that was made anew has another AID. */
  readonly #own: () => string
  readonly #peers: PeerBook

  constructor(own: () => string, peers: PeerBook) {
    this.#own = own
    this.#peers = peers
  }

  /** What stands beside the payload proves nothing. Throws `Malformed` for what is no letter to this node, and what the hub fails at where it is asked for a log. */
  async read(letter: PolledLetter, hub: HubClient): Promise<ReadLetter> {
    if (letter.payload === undefined)
      throw new Malformed('the letter cannot be read, or is longer than this node reads')
    const open = decodeOpen(letter.payload)
    const { body } = open
    if (body.to !== this.#own()) throw new Malformed('the letter is for another agent')
    const log = await this.#logOf(body, hub)
    if (log === undefined || body.kelSeq > log.seq)
      throw new SenderUnknown('the key of the sender is not known')
    const key = keyAt(log, body.kelSeq)
    if (key === undefined || !holdsOpen(key, open)) throw new Malformed('the signature does not hold')
    return { open, log }
  }

  async #logOf({ from, kelSeq }: MessageBody, hub: HubClient): Promise<VerifiedKel | undefined> {
    const held = this.#peers.find(from)?.log
    if (held !== undefined && held.seq >= kelSeq) return held
    if (from === hub.identity.aid) await learnHubKey(hub, kelSeq)
    const shown = await logAt(hub, from)
    return shown && this.#merged(from, shown)
  }

  #merged(aid: string, shown: readonly KeyEvent[]): VerifiedKel | undefined {
    try {
      return this.#peers.merge(aid, shown)
    } catch (error) {
      if (isUnusable(error)) return undefined
      throw error
    }
  }
}

/** The files of a letter. */
export const filesOf = ({ body, attachments }: OpenMessage): ArrivingFiles => ({
  body,
  async *parts() {
    for (const [index, content] of attachments.entries())
      for (let at = 0; at < content.length; at += PIECE_BYTES)
        yield { index, chunk: content.subarray(at, at + PIECE_BYTES) }
  },
})
