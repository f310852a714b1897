/** Delivery confirmations: what a recipient signs of one envelope, and what its sender reads in it. */
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { keyAt } from '../../protocol/identity/kel.ts'
import {
  type Dack,
  type DackCode,
  Dack as DackCodec,
  dackCodes,
  dackHandle,
  openDack,
  sealDack,
} from '../../protocol/mail/dack.ts'
import type { MessageBody } from '../../protocol/mail/message.ts'
import type { Fate } from '../carrier/carrier.ts'
import type { AckItem } from '../hubs/hub.ts'
import type { Identity } from '../identity/identity.ts'
import type { PeerBook } from '../peers/peers.ts'
import type { Machine } from '../platform/machine.ts'
import type { Store } from '../store/open.ts'
import type { OutboxEntry } from '../store/outbox.ts'
import { introduceAgain } from '../store/peers.ts'
import type { Verdict } from '../store/seen.ts'
import type { Threads } from '../store/threads.ts'

const NONCE_BYTES = 12
export const UNCONFIRMED = 'collected, but not confirmed'
export const BADLY_CONFIRMED = 'collected, but the confirmation does not verify'

export type Judged = { body: MessageBody; envelopeDigest: Uint8Array; digest: Uint8Array; verdict: Verdict }

/** What tells a sender the verdict; nothing where that can't be told. */
export type Confirmed = Pick<AckItem, 'handle' | 'dack'>

export class Confirmations {
  readonly #identity: Identity
  readonly #machine: Machine

  constructor(identity: Identity, machine: Machine) {
    this.#identity = identity
    this.#machine = machine
  }

  of({ body, envelopeDigest, digest, verdict }: Judged): Confirmed {
    const { handleSecret } = body
    if (handleSecret === undefined) return {}
    const { aid, seed, log } = this.#identity
    const { now, random } = this.#machine
    const dack = DackCodec.sign(seed, {
      envelopeDigest,
      messageId: body.messageId,
      messageDigest: digest,
      recipient: aid,
      kelSeq: log.seq,
      tsMs: now(),
      code: dackCodes[verdict],
    })
    return { handle: dackHandle(handleSecret), dack: sealDack(handleSecret, random(NONCE_BYTES), dack) }
  }
}

type ReadingParts = { store: Store; peers: PeerBook; threads: Threads }

export class ReadConfirmations {
  readonly #parts: ReadingParts

  constructor(parts: ReadingParts) {
    this.#parts = parts
  }

  /** What a confirmation proves of the message that it is given for. */
  fateIn(entry: OutboxEntry, sealed: Uint8Array): Fate {
    const { store, peers } = this.#parts
    const dack = this.#open(entry, sealed)
    if (dack === undefined) return { is: 'unproven', why: BADLY_CONFIRMED }
    // Whoever has a retired key could have made it since: the same message again is confirmed under the present one.
    if (dack.body.kelSeq !== peers.find(entry.peer)?.log.seq) return { is: 'sent_in_vain' }
    const verdict = verdictOf(dack.body.code)
    if (verdict !== 'retiredKey' && verdict !== 'times') return { is: 'judged', verdict }
    introduceAgain(store, entry.peer)
    return { is: 'sent_in_vain' }
  }

  /** The confirmation, when it is the recipient's and names this message. */
  #open(entry: OutboxEntry, sealed: Uint8Array): Dack | undefined {
    const { peers, threads } = this.#parts
    try {
      const dack = openDack(entry.handleSecret, sealed)
      const { body } = dack
      const message = threads.message(entry.message)
      const log = peers.find(entry.peer)?.log
      const key = log === undefined ? undefined : keyAt(log, body.kelSeq)
      const digests = JSON.parse(entry.digests) as string[]
      const fits =
        body.recipient === entry.peer &&
        Buffer.from(body.messageId).equals(message.messageId) &&
        Buffer.from(body.messageDigest).equals(message.digest) &&
        digests.includes(toBase64url(body.envelopeDigest))
      return fits && key !== undefined && DackCodec.verify(key, dack) ? dack : undefined
    } catch {
      return undefined
    }
  }
}

const verdictOf = (code: DackCode): Verdict =>
  (Object.keys(dackCodes) as Verdict[]).find(name => dackCodes[name] === code) as Verdict
