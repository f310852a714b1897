/** A message that goes again: after a pause where an attempt failed, or anew where its envelope is lost. */
import type { Why } from '../carrier/carrier.ts'
import type { Machine } from '../platform/machine.ts'
import type { Store } from '../store/open.ts'
import {
  countResending,
  doubtAtHub,
  entriesAtHub,
  type OutboxEntry,
  sendAgainAt,
  type WaitsFor,
} from '../store/outbox.ts'
import { ownReason } from '../store/reasons.ts'
import type { Settling } from './settling.ts'

const BACKOFF_MAX_MS = 10 * 60_000
const RESENT_SOON = 5
const RESENT_LATER_MS = 6 * 3_600_000
/** What a hub may have lost is asked about within this time. */
const DOUBTED_ASKED_MS = 10_000

/** A number in [0, 1). */
export function fraction(random: Machine['random']): number {
  const [high, low] = random(2)
  return ((high as number) * 256 + (low as number)) / 65_536
}

type Again = { why: Why; afterMs?: number | undefined; waitsFor?: WaitsFor | undefined }
/** The time as our hub sees it, by which envelopes expire, and the first pause after a failure. */
type Pace = { hubNow: () => number; backoffFirstMs: number }

export class Resending {
  readonly #store: Store
  readonly #settling: Settling
  readonly #machine: Machine
  readonly #pace: Pace

  constructor(
    { store, settling }: { store: Store; settling: Settling },
    machine: Machine,
    { hubNow, backoffFirstMs }: Pace,
  ) {
    this.#store = store
    this.#settling = settling
    this.#machine = machine
    this.#pace = { hubNow, backoffFirstMs }
  }

  /** Tries again after a pause that grows with the attempts, or after the time that was asked for; 0 is at once. */
  retry(entry: OutboxEntry, { why, afterMs, waitsFor }: Again): void {
    const { now, random, log } = this.#machine
    const backoff = Math.min(this.#pace.backoffFirstMs * 2 ** entry.attempts, BACKOFF_MAX_MS)
    const jittered = backoff * (0.5 + fraction(random) / 2)
    const wait = afterMs === 0 ? 0 : Math.max(afterMs ?? 0, jittered)
    sendAgainAt(this.#store, entry.message, { ...why, at: now() + wait, waitsFor })
    // once for each reason, or an evening without a hub fills the log
    const { reason } = why
    if (reason === entry.lastError) return
    const said = {
      message: entry.message,
      attempt: entry.attempts + 1,
      reason,
      again_in_s: Math.ceil(wait / 1000),
    }
    log.info(said, 'not sent; it is tried again from its beginning')
  }

  /** The hub no longer has the envelope, or the recipient could not take it: sent again, the same message. */
  sendAnew(
    entry: OutboxEntry,
    { why = 'to be sent again', waitsFor }: { why?: string; waitsFor?: WaitsFor } = {},
  ): void {
    if (this.#settling.endIfOverdue(entry)) return
    countResending(this.#store, entry.message)
    const reason = this.isExpired(entry) ? 'expired' : why
    // a hub that takes a message and loses it again and again gets it ever less often, up to the deadline
    const pause = entry.resent < RESENT_SOON ? undefined : RESENT_LATER_MS
    const again = { why: ownReason(reason), afterMs: pause, waitsFor }
    this.retry({ ...entry, attempts: entry.resent }, again)
  }

  /**
   * The hub does not know an envelope that has not expired, as after it was put back to an older state: it may have lost
   * the others of its task as well, and all of them go again in their order.
   */
  sendLost(entry: OutboxEntry): void {
    const lost = entry.interaction === null ? [entry] : entriesAtHub(this.#store, entry.interaction)
    for (const one of lost) this.sendAnew(one)
    // what it holds of other tasks is doubtful too, and nothing that is said there overtakes it
    doubtAtHub(this.#store, this.#machine.now() + DOUBTED_ASKED_MS, entry.viaHub)
  }

  /** Whether the hub gives the last envelope to nobody any more. */
  isExpired({ expiresAt }: OutboxEntry): boolean {
    return expiresAt !== null && this.#pace.hubNow() >= expiresAt
  }
}
