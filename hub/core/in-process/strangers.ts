/**
 * Fair shares of a recipient's room for non-contacts. Senders are counted under a keyed hash whose key is drawn at
 * start and never leaves memory, so no store, log or dump tells who wrote to whom.
 */

import { hmacSha256 } from '../../../protocol/crypto/engine.node.ts'
import { toBase64url, utf8 } from '../../../protocol/encoding/bytes.ts'
import { makeRoom } from '../bounded.ts'
import { contactWaits } from '../contact-shares.ts'
import { DAY_MS } from '../limits.ts'
import type { ShareLimits } from '../ports/shares.ts'
import { WindowCounts } from './window-counts.ts'

const MINUTE_MS = 60_000
const WAITING_MAX = 200_000
const MAILBOXES_MAX = 100_000

export type StrangerLimits = Omit<ShareLimits, 'sentPerDay'> & {
  /** Waiting first contacts whose senders were forgotten; each sender counts as one who sent half of its share. */
  unknown: number
}

export type StrangersOptions = {
  random: (count: number) => Uint8Array
  /** The newest time that the process before this one stored. */
  lastMs: number
  /** How many first contacts wait in a mailbox, whoever sent them. */
  waitingIn: (mailbox: number) => Promise<number>
}

export class Strangers {
  readonly #key: Uint8Array
  readonly #waitingIn: StrangersOptions['waitingIn']
  readonly #perMailbox: WindowCounts
  readonly #perSender: WindowCounts
  readonly #perDay: WindowCounts
  /** Of each mailbox the waiting envelopes, and whose they are. */
  readonly #waiting = new Map<number, Map<number, string>>()
  /** How many wait of each share, and of all. */
  readonly #counts = new Map<string, number>()
  #held = 0
  /** Envelopes of each mailbox that waited already when it was first looked at. */
  readonly #unknown = new Map<string, number>()

  constructor({ random, lastMs, waitingIn }: StrangersOptions) {
    this.#key = random(32)
    this.#waitingIn = waitingIn
    this.#perMailbox = new WindowCounts(MINUTE_MS, lastMs)
    this.#perSender = new WindowCounts(MINUTE_MS, lastMs)
    this.#perDay = new WindowCounts(DAY_MS, lastMs)
  }

  /** Names a sender towards one mailbox without saying who it is. */
  share(aid: string, mailbox: number): string {
    return toBase64url(hmacSha256(this.#key, utf8(`${aid} ${mailbox}`)).subarray(0, 16))
  }

  /** Waiting first contacts of a mailbox that came before the start; they only become fewer. */
  async unknownIn(mailbox: number): Promise<number> {
    const name = String(mailbox)
    const known = this.#unknown.get(name)
    if (known === 0) return 0
    const waiting = await this.#waitingIn(mailbox)
    const others = Math.max(0, waiting - (this.#waiting.get(mailbox)?.size ?? 0))
    const unknown = Math.min(known ?? others, others)
    makeRoom(this.#unknown, MAILBOXES_MAX)
    this.#unknown.set(name, unknown)
    return unknown
  }

  /** 0, or how long a first contact of this sender has to wait. */
  waitMs(share: string, mailbox: number, limits: StrangerLimits, nowMs: number): number {
    const names = { mailboxMinute: String(mailbox), senderMinute: share, senderDay: share }
    const counts = { mailboxMinute: this.#perMailbox, senderMinute: this.#perSender, senderDay: this.#perDay }
    const waits = contactWaits(limits, (of, max) => counts[of].used(names[of], max, nowMs), {
      waiting: this.#counts.get(share) ?? 0,
      unknown: limits.unknown,
    })
    switch (waits) {
      case 'day':
        return this.#perDay.remainingMs(nowMs)
      case 'minute':
        return this.#perSender.remainingMs(nowMs)
      case 'room':
        return MINUTE_MS
      case undefined:
        return 0
    }
  }

  /** Counts a first contact whose credential has held. */
  count(share: string, mailbox: number, nowMs: number): void {
    this.#perMailbox.add(String(mailbox), nowMs)
    this.#perSender.add(share, nowMs)
    this.#perDay.add(share, nowMs)
  }

  noteQueued(share: string, mailbox: number, id: number): void {
    if (this.#held >= WAITING_MAX) return
    const waiting = this.#waiting.get(mailbox) ?? new Map<number, string>()
    this.#waiting.set(mailbox, waiting.set(id, share))
    this.#held += 1
    this.#counts.set(share, (this.#counts.get(share) ?? 0) + 1)
  }

  /** An envelope was collected or has expired. */
  noteGone(mailbox: number, id: number): void {
    const waiting = this.#waiting.get(mailbox)
    const share = waiting?.get(id)
    if (waiting === undefined || share === undefined) return
    waiting.delete(id)
    if (waiting.size === 0) this.#waiting.delete(mailbox)
    this.#held -= 1
    const left = (this.#counts.get(share) ?? 1) - 1
    if (left > 0) this.#counts.set(share, left)
    else this.#counts.delete(share)
  }

  /** A mailbox was emptied, because its agent is not registered any more. */
  forget(mailbox: number): void {
    for (const id of [...(this.#waiting.get(mailbox)?.keys() ?? [])]) this.noteGone(mailbox, id)
    this.#unknown.delete(String(mailbox))
  }
}
