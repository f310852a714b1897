/**
 * Fair shares of a recipient's room for non-contacts. Senders are counted under a keyed hash whose key is drawn at
 * start and never leaves memory, so no store, log or dump tells who wrote to whom.
 */

import { hmacSha256 } from '../../protocol/crypto/engine.node.ts'
import { toBase64url, utf8 } from '../../protocol/encoding/bytes.ts'
import { DAY_MS } from './limits.ts'
import { WindowCounts } from './rate.ts'

const MINUTE_MS = 60_000
const WAITING_MAX = 200_000

export type StrangerLimits = {
  perMinute: number
  perDay: number
  senderPerMinute: number
  senderWaiting: number
}

export class Strangers {
  readonly #key: Uint8Array
  readonly #perMailbox = new WindowCounts(MINUTE_MS)
  readonly #perSender = new WindowCounts(MINUTE_MS)
  readonly #perDay = new WindowCounts(DAY_MS)
  /** Waiting envelopes: whose they are, and how many each has. */
  readonly #waiting = new Map<string, string>()
  readonly #counts = new Map<string, number>()

  constructor(random: (count: number) => Uint8Array) {
    this.#key = random(32)
  }

  /** Names a sender towards one mailbox without saying who it is. */
  share(aid: string, mailbox: number): string {
    return toBase64url(hmacSha256(this.#key, utf8(`${aid} ${mailbox}`)).subarray(0, 16))
  }

  /** 0, or how long a first contact of this sender has to wait. */
  waitMs(share: string, mailbox: number, limits: StrangerLimits, nowMs: number): number {
    if (limits.perDay === 0) return this.#perDay.remainingMs(nowMs)
    if (this.#perDay.count(share, nowMs) >= limits.perDay) return this.#perDay.remainingMs(nowMs)
    if ((this.#counts.get(share) ?? 0) >= limits.senderWaiting) return MINUTE_MS
    const minuteFull =
      this.#perMailbox.count(String(mailbox), nowMs) >= limits.perMinute ||
      this.#perSender.count(share, nowMs) >= Math.min(limits.senderPerMinute, limits.perMinute)
    return minuteFull ? this.#perMinuteWait(nowMs) : 0
  }

  #perMinuteWait(nowMs: number): number {
    return this.#perSender.remainingMs(nowMs)
  }

  /** Counts a first contact whose credential has held. */
  count(share: string, mailbox: number, nowMs: number): void {
    this.#perMailbox.add(String(mailbox), nowMs)
    this.#perSender.add(share, nowMs)
    this.#perDay.add(share, nowMs)
  }

  noteQueued(share: string, mailbox: number, id: number): void {
    if (this.#waiting.size >= WAITING_MAX) return
    this.#waiting.set(`${mailbox} ${id}`, share)
    this.#counts.set(share, (this.#counts.get(share) ?? 0) + 1)
  }

  /** An envelope was collected or has expired. */
  noteGone(mailbox: number, id: number): void {
    const place = `${mailbox} ${id}`
    const share = this.#waiting.get(place)
    if (share === undefined) return
    this.#waiting.delete(place)
    const left = (this.#counts.get(share) ?? 1) - 1
    if (left > 0) this.#counts.set(share, left)
    else this.#counts.delete(share)
  }
}
