/**
 * Sending sessions of first contacts, in memory only: who opened one is never stored. The session's MAC is the
 * credential; neither the recipient nor a disk ever learns whose session it was.
 */
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { sealSession, verifySessionMac } from '../../protocol/mail/session.ts'
import type { HubContext } from './context.ts'
import { CLOCK_WINDOW_MS } from './limits.ts'
import type { Buckets } from './ports/rates.ts'
import { Refusal } from './refusal.ts'

const SID_BYTES = 16
const MAC_KEY_BYTES = 32

export type Session = { sid: Uint8Array; aid: string; macKey: Uint8Array; expMs: number }
export type SessionUse = { sid: Uint8Array; tsMs: number; mac: Uint8Array }

export class Sessions {
  readonly #context: HubContext
  readonly #bySid = new Map<string, Session>()
  readonly #byAid = new Map<string, string[]>()
  readonly #openings: Buckets

  constructor(context: HubContext) {
    this.#context = context
    const perMinute = context.limits.sessionsPerMinute
    this.#openings = context.memory.rates.of('session openings', {
      perSecond: perMinute / 60,
      burst: perMinute,
    })
  }

  /** Opens a session for a registered agent; a fifth one ends its oldest. */
  async open(
    aid: string,
    epk: Uint8Array,
  ): Promise<{ sid: Uint8Array; expMs: number; enc: Uint8Array; ciphertext: Uint8Array }> {
    const { now, random, identity, limits, memory } = this.#context
    const waitMs = await this.#openings.take(aid, now())
    if (waitMs > 0) throw new Refusal('rateLimited', { retryAfterMs: waitMs })
    const session = {
      sid: random(SID_BYTES),
      aid,
      macKey: random(MAC_KEY_BYTES),
      expMs: now() + limits.sessionLifeMs,
    }
    const quota = await memory.shares.left(aid, limits.sessionQuota, now())
    const grant = { macKey: session.macKey, quota, expMs: session.expMs }
    const sealed = seal(epk, { hub: identity.aid, sid: session.sid, aid }, grant)
    this.#keep(session)
    return { sid: session.sid, expMs: session.expMs, ...sealed }
  }

  #keep(session: Session): void {
    this.#prune()
    const name = toBase64url(session.sid)
    const names = [...(this.#byAid.get(session.aid) ?? []), name]
    for (const old of names.splice(0, Math.max(0, names.length - this.#context.limits.sessionsPerAgentMax)))
      this.#bySid.delete(old)
    this.#byAid.set(session.aid, names)
    this.#bySid.set(name, session)
  }

  /** The session that a send names, if it lives and its MAC covers exactly this envelope and credential. */
  judge(use: SessionUse, envelopeDigest: Uint8Array, access: Uint8Array): Session {
    const nowMs = this.#context.now()
    const session = this.#bySid.get(toBase64url(use.sid))
    if (session === undefined || session.expMs <= nowMs) throw new Refusal('sessionInvalid')
    if (Math.abs(use.tsMs - nowMs) > CLOCK_WINDOW_MS) throw new Refusal('sessionInvalid')
    const covered = { sid: use.sid, tsMs: use.tsMs, envelopeDigest, access }
    if (!verifySessionMac(session.macKey, covered, use.mac)) throw new Refusal('sessionInvalid')
    return session
  }

  /** Ends every session of an agent, because its key state changed or it left. */
  endAll(aid: string): void {
    for (const name of this.#byAid.get(aid) ?? []) this.#bySid.delete(name)
    this.#byAid.delete(aid)
  }

  #prune(): void {
    const nowMs = this.#context.now()
    for (const [name, session] of this.#bySid) {
      if (session.expMs > nowMs) break
      this.#bySid.delete(name)
      const left = (this.#byAid.get(session.aid) ?? []).filter(other => other !== name)
      if (left.length === 0) this.#byAid.delete(session.aid)
      else this.#byAid.set(session.aid, left)
    }
  }
}

function seal(
  epk: Uint8Array,
  names: { hub: string; sid: Uint8Array; aid: string },
  grant: { macKey: Uint8Array; quota: number; expMs: number },
): { enc: Uint8Array; ciphertext: Uint8Array } {
  try {
    return sealSession(epk, names, grant)
  } catch {
    throw new Refusal('requestMalformed', { why: 'epk is not a key of the suite' })
  }
}
