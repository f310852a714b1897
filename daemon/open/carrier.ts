/** The carrier of open mail: its hub reads every letter, lets anybody write one, and tells nothing of what became of it. */
import { Refused } from '../../protocol/contract/client.ts'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { kinds } from '../../protocol/mail/payload.ts'
import type { Timers } from '../../protocol/timers.ts'
import type {
  Arrived,
  Carrier,
  Collected,
  Collecting,
  Delivered,
  Fate,
  Looked,
  Taker,
  Undelivered,
} from '../carrier/carrier.ts'
import { finalRefusals, isUnreached, reasonOf } from '../hubs/failures.ts'
import type { OpenLetter, OpenMail } from '../hubs/open-mail.ts'
import type { Store } from '../store/open.ts'
import { isHeld, noteSealing, type OutboxEntry } from '../store/outbox.ts'
import { ownReason } from '../store/reasons.ts'
import type { Threads } from '../store/threads.ts'
import type { Writing, WrittenLetter } from './letters.ts'
import type { OpenMailbox } from './mailbox.ts'

const SEND_TIMEOUT_MS = 15 * 60_000
const NOT_HERE = 'the recipient is not registered at this hub, or takes sealed mail alone'
const VISIT_OVER = 'the hub does not know this visit any more: the visitor has left, or the hub was restarted'
const DOUBTED = 'the hub was away since it took this, and tells nobody what it holds'
const MIB = 1024 * 1024
const tooLarge = (bytesMax: number): Delivered => ({
  outcome: 'final',
  reason: `a message has ${bytesMax / MIB} MiB with its files at most at this hub; send less at once`,
  reached: undefined,
})
const HELD: Delivered = { outcome: 'held', reached: undefined }
const SEALED_ALONE = 'an open letter carries no capabilities'

/** A way that is tried before that of the hub: whether the recipient has signed that it has the letter. */
export type Shortcut = (written: WrittenLetter, entry: OutboxEntry) => Promise<boolean>

type CarrierParts = {
  store: Store
  threads: Threads
  writing: Writing
  timers: Timers
  shortcut: Shortcut | undefined
  /** That of the hub, which takes the words for its visitors. */
  hubAid: string
}

export class OpenCarrier implements Carrier {
  readonly #parts: CarrierParts
  readonly #mail: OpenMail
  readonly #mailbox: OpenMailbox

  constructor(parts: CarrierParts, mail: OpenMail, mailbox: OpenMailbox) {
    this.#parts = parts
    this.#mail = mail
    this.#mailbox = mailbox
  }

  async deliver(entry: OutboxEntry): Promise<Delivered> {
    const { store, threads, writing, shortcut } = this.#parts
    if (threads.message(entry.message).kind === kinds.capabilities)
      return { outcome: 'final', reason: SEALED_ALONE, reached: undefined }
    try {
      const { letterBytesMax } = this.#mail
      if (writing.filesOf(entry) > letterBytesMax) return tooLarge(letterBytesMax)
      const written = await writing.letter(entry)
      if (written.letter.payload.length > letterBytesMax) return tooLarge(letterBytesMax)
      const isHeldBack = () => isHeld(store, entry.message)
      if (isHeldBack()) return HELD
      this.#noteWritten(entry, written.digest)
      if (await shortcut?.(written, entry)) return { outcome: 'taken', isDirect: true, reached: undefined }
      return isHeldBack() ? HELD : await this.#atHub(written.letter)
    } catch (error) {
      const reached = isUnreached(error) ? false : error instanceof Refused || undefined
      return { ...this.#after(entry, error), reached }
    }
  }

  async #atHub(letter: OpenLetter): Promise<Delivered> {
    const signal = this.#parts.timers.deadline(SEND_TIMEOUT_MS)
    const { id: rid, viaHub = null, isQuiet } = await this.#mail.send(letter, signal)
    if (letter.to === this.#parts.hubAid) return { outcome: 'taken', isDirect: false, reached: true }
    const at = { rid, viaHub, credential: null, expiresAt: null }
    return { outcome: 'at_hub', at, isQuiet, reached: true }
  }

  /** Somebody may have seen it from here on. */
  #noteWritten(entry: OutboxEntry, digest: Uint8Array): void {
    const { store } = this.#parts
    store.unflushed(
      () =>
        noteSealing(store, entry.message, {
          digests: JSON.stringify([toBase64url(digest)]),
          granted: null,
          introduces: null,
        }),
      'node.seal',
    )
  }

  #after({ message, peer }: OutboxEntry, error: unknown): Undelivered {
    if (isHeld(this.#parts.store, message)) return { outcome: 'held' }
    if (!(error instanceof Refused)) {
      const afterMs = isUnreached(error) ? { afterMs: 0 } : {}
      return { outcome: 'again', why: reasonOf(error), ...afterMs }
    }
    const final = finalRefusals[error.code]
    if (final !== undefined) return { outcome: 'final', reason: final }
    // a visitor has no key, so the word of its hub is all there is
    if (error.code === 'unknown_aid' && peer === this.#parts.hubAid)
      return { outcome: 'left', reason: VISIT_OVER }
    const why = error.code === 'unknown_aid' ? ownReason(NOT_HERE) : reasonOf(error)
    return { outcome: 'again', why: { ...why, refusedAs: error.code } }
  }

  /** Nobody says what became of a letter; where the hub may have lost it, it goes once more. */
  async fatesOf(entries: readonly OutboxEntry[]): Promise<Fate[]> {
    return entries.map(({ doubted }) =>
      doubted === 1 ? { is: 'unproven', why: DOUBTED } : { is: 'waiting' },
    )
  }

  collect(how: Collecting, by: Taker): Promise<Collected> {
    return this.#mailbox.collect(how, by)
  }

  look(how: Collecting & { after?: number | undefined }, see: (arrived: Arrived) => void): Promise<Looked> {
    return this.#mailbox.look(how, see)
  }
}
