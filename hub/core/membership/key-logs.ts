/**
 * Verdicts on submitted key event logs against the held one (objects: identity). Only verdicts on the bytes themselves
 * are remembered; admission, times and request signatures can change for the same log.
 */

import { sha256 } from '../../../protocol/crypto/engine.node.ts'
import { Malformed, toBase64url } from '../../../protocol/encoding/bytes.ts'
import { encode } from '../../../protocol/encoding/cbor.ts'
import { aidOfInception } from '../../../protocol/identity/aid.ts'
import {
  compareKel,
  extendKel,
  KEL_EVENTS_MAX,
  KelInvalid,
  type KeyEvent,
  kelItem,
  type VerifiedKel,
} from '../../../protocol/identity/kel.ts'
import { decodeKelLazily, signedByEvent } from '../../../protocol/identity/kel-lazy.ts'
import { addressBucket, isProxy } from '../address.ts'
import type { HubContext } from '../context.ts'
import type { Facts } from '../ports/caches.ts'
import type { Buckets } from '../ports/rates.ts'
import { Refusal } from '../refusal.ts'

const VERDICT_LIFE_MS = 10 * 60_000
const VERDICTS_MAX = 10_000
/** Events of one turn of the event loop; their signatures are checked by the other thread meanwhile. */
const EVENTS_PER_TURN = 8

/** A log as it was handed in, and by whom. */
export type SubmittedLog = { aid: string; events: KeyEvent[]; address: string }

type Verdict = { refusal: Refusal; untilMs: number }

export class KeyLogs {
  readonly #context: HubContext
  readonly #checked: Buckets
  readonly #verdicts: Facts<Verdict>

  constructor(context: HubContext) {
    this.#context = context
    this.#verdicts = context.memory.caches.facts('key logs', VERDICTS_MAX)
    this.#checked = context.memory.rates.of('key events', context.limits.keyEventRate)
  }

  /** The log after the submitted one was judged; only verdicts on the bytes themselves are remembered. */
  async judge(
    submitted: SubmittedLog,
    bytes: Uint8Array,
    held: VerifiedKel | undefined,
  ): Promise<VerifiedKel> {
    const name = `${submitted.aid} ${toBase64url(sha256(bytes))}`
    const { now } = this.#context
    const known = await this.#verdicts.find(name, async () => undefined)
    if (known !== undefined && known.untilMs > now()) throw known.refusal
    try {
      return await this.#verdict(submitted, held)
    } catch (error) {
      const refusal = invalidOr(error)
      if (
        refusal instanceof Refusal &&
        (refusal.code === 'keyLogInvalid' || refusal.code === 'keyLogForked')
      ) {
        this.#verdicts.put(name, { refusal, untilMs: now() + VERDICT_LIFE_MS })
      }
      throw refusal
    }
  }

  /** The longer one of a held log and a submitted one, which may be shorter. */
  async longest(submitted: SubmittedLog, held: VerifiedKel | undefined): Promise<VerifiedKel> {
    const { aid, events } = submitted
    const shorter = held !== undefined && events.length < held.events.length
    if (shorter && compareKel(held, events).verdict === 'rollback') return held
    const log = await this.#verdict(submitted, held)
    return log.aid === aid ? log : Promise.reject(new KelInvalid('wrong_aid'))
  }

  async #verdict(submitted: SubmittedLog, held: VerifiedKel | undefined): Promise<VerifiedKel> {
    const { aid, events } = submitted
    if (held === undefined) return await this.#extend(undefined, submitted)
    if (held.deactivated) throw new Refusal('identityDeactivated')
    // Of a log that only goes on, the end is checked below.
    const verdict = compareKel(held, events.slice(0, held.events.length))
    if (verdict.verdict === 'unchanged')
      return events.length === held.events.length ? held : await this.#extend(held, submitted)
    if (verdict.verdict !== 'fork') throw new Refusal('keyLogOlder')
    const { store, now, alert } = this.#context
    alert('key log forked', { aid, seq: verdict.seq })
    await store.keepForkProof({
      aid,
      seq: verdict.seq,
      held: encode(kelItem.write([verdict.held])),
      submitted: encode(kelItem.write([verdict.submitted])),
      seenMs: now(),
    })
    throw new Refusal('keyLogForked')
  }

  /** The events after those of `base`, a few in each turn, up to the first that does not hold. */
  async #extend(base: VerifiedKel | undefined, { aid, events, address }: SubmittedLog): Promise<VerifiedKel> {
    const from = base?.events.length ?? 0
    if (events.length > KEL_EVENTS_MAX) throw new KelInvalid('too_large', KEL_EVENTS_MAX)
    await this.#spend(aid, address, events.length - from)
    let log = base
    for (let seq = from; seq < events.length || log === undefined; seq += EVENTS_PER_TURN) {
      const some = events.slice(seq, seq + EVENTS_PER_TURN)
      log = extendKel(log, some, () => true)
      const signed = some.map(signedByEvent)
      const verdicts = await Promise.all(
        signed.map(({ key, message, signature }) => this.#context.verifier.verify(key, message, signature)),
      )
      const bad = verdicts.indexOf(false)
      if (bad >= 0) throw new KelInvalid('bad_signature', seq + bad)
    }
    return log
  }

  async #spend(aid: string, address: string, events: number): Promise<void> {
    const nowMs = this.#context.now()
    const payers = isProxy(address) ? [aid] : [aid, addressBucket(address)]
    for (const payer of payers) {
      const retryAfterMs = await this.#checked.take(payer, nowMs, events)
      if (retryAfterMs > 0) throw new Refusal('rateLimited', { retryAfterMs })
    }
  }
}

function invalidOr(error: unknown): unknown {
  const invalid = error instanceof KelInvalid || error instanceof Malformed
  return invalid ? new Refusal('keyLogInvalid', { why: error.message }) : error
}

/** The events of a log whose inception gives this AID; anything else costs no signature check. */
export function eventsOf(aid: string, kel: Uint8Array): KeyEvent[] {
  try {
    const events = decodeKelLazily(kel)
    const inception = events[0]
    if (inception === undefined) throw new KelInvalid('empty')
    if (aidOfInception(inception.bodyBytes) !== aid) throw new KelInvalid('wrong_aid')
    return events
  } catch (error) {
    throw invalidOr(error)
  }
}

/** The last event of a log as it shows it; nothing of it is verified. */
export function lastBody(events: readonly KeyEvent[]): KeyEvent['body'] {
  try {
    const last = events.at(-1)
    if (last === undefined) throw new KelInvalid('empty')
    return last.body
  } catch (error) {
    throw invalidOr(error)
  }
}

/** The longer of the held log and a verified one; a log that lost the race to a longer one stays as held. */
export function newest(held: VerifiedKel, verified: VerifiedKel): VerifiedKel {
  const verdict = compareKel(held, verified.events, () => true)
  if (verdict.verdict === 'extends') return verdict.log
  if (verdict.verdict === 'fork') throw new Refusal('keyLogForked')
  return held
}
