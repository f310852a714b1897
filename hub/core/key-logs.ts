/**
 * Verdicts on submitted key event logs against the held one (objects: identity). Only verdicts on the bytes themselves
 * are remembered; admission, times and request signatures can change for the same log.
 */

import { sha256 } from '../../protocol/crypto/engine.node.ts'
import { Malformed, toBase64url } from '../../protocol/encoding/bytes.ts'
import { encode } from '../../protocol/encoding/cbor.ts'
import { aidOfInception } from '../../protocol/identity/aid.ts'
import {
  compareKel,
  decodeKel,
  KelInvalid,
  type KeyEvent,
  kelItem,
  type VerifiedKel,
  verifyKel,
} from '../../protocol/identity/kel.ts'
import type { HubContext } from './context.ts'
import { Refusal } from './refusal.ts'

const VERDICT_LIFE_MS = 10 * 60_000
const VERDICTS_MAX = 10_000

export class KeyLogs {
  readonly #context: HubContext
  readonly #verdicts = new Map<string, { refusal: Refusal; untilMs: number }>()

  constructor(context: HubContext) {
    this.#context = context
  }

  /** The log after the submitted one was judged; only verdicts on the bytes themselves are remembered. */
  async judge(
    aid: string,
    bytes: Uint8Array,
    held: VerifiedKel | undefined,
    events: KeyEvent[],
  ): Promise<VerifiedKel> {
    const name = `${aid} ${toBase64url(sha256(bytes))}`
    const { now } = this.#context
    const known = this.#verdicts.get(name)
    if (known !== undefined && known.untilMs > now()) throw known.refusal
    try {
      return await this.#verdict(aid, held, events)
    } catch (error) {
      const refusal =
        error instanceof KelInvalid ? new Refusal('keyLogInvalid', { why: error.message }) : error
      if (
        refusal instanceof Refusal &&
        (refusal.code === 'keyLogInvalid' || refusal.code === 'keyLogForked')
      ) {
        if (this.#verdicts.size >= VERDICTS_MAX) this.#verdicts.clear()
        this.#verdicts.set(name, { refusal, untilMs: now() + VERDICT_LIFE_MS })
      }
      throw refusal
    }
  }

  /** The longer one of a held log and the events of a submitted one, which may be shorter. */
  async longest(aid: string, held: VerifiedKel | undefined, events: KeyEvent[]): Promise<VerifiedKel> {
    if (held === undefined) {
      const log = verifyKel(events)
      return log.aid === aid ? log : Promise.reject(new KelInvalid('wrong_aid'))
    }
    const verdict = compareKel(held, events)
    if (verdict.verdict !== 'fork') return verdict.verdict === 'extends' ? verdict.log : held
    return await this.#verdict(aid, held, events)
  }

  async #verdict(aid: string, held: VerifiedKel | undefined, events: KeyEvent[]): Promise<VerifiedKel> {
    if (held === undefined) return verifyKel(events)
    if (held.deactivated) throw new Refusal('identityDeactivated')
    const verdict = compareKel(held, events)
    if (verdict.verdict === 'extends') return verdict.log
    if (verdict.verdict === 'unchanged') return held
    if (verdict.verdict === 'rollback') throw new Refusal('keyLogOlder')
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
}

/** The events of a log whose inception gives this AID; anything else costs no signature check. */
export function eventsOf(aid: string, kel: Uint8Array): KeyEvent[] {
  try {
    const events = decodeKel(kel)
    const inception = events[0]
    if (inception === undefined) throw new KelInvalid('empty')
    if (aidOfInception(inception.bodyBytes) !== aid) throw new KelInvalid('wrong_aid')
    return events
  } catch (error) {
    if (error instanceof KelInvalid || error instanceof Malformed)
      throw new Refusal('keyLogInvalid', { why: error.message })
    throw error
  }
}

/** The longer of the held log and what extends it; a log that lost the race to a longer one stays as held. */
export function newest(held: VerifiedKel, events: readonly KeyEvent[]): VerifiedKel {
  const verdict = compareKel(held, events)
  if (verdict.verdict === 'extends') return verdict.log
  if (verdict.verdict === 'fork') throw new Refusal('keyLogForked')
  return held
}
