/**
 * Sending sessions of first contacts: who opened one is never stored. The session's MAC is the credential; neither the
 * recipient nor a disk ever learns whose session it was.
 */
import { sealSession, verifySessionMac } from '../../protocol/mail/session.ts'
import type { HubContext } from './context.ts'
import { CLOCK_WINDOW_MS } from './limits.ts'
import type { Buckets } from './ports/rates.ts'
import type { Session } from './ports/sessions.ts'
import { Refusal } from './refusal.ts'

export type SessionUse = { sid: Uint8Array; tsMs: number; mac: Uint8Array }

export class Sessions {
  readonly #context: HubContext
  readonly #openings: Buckets

  constructor(context: HubContext) {
    this.#context = context
    const perMinute = context.limits.sessionsPerMinute
    this.#openings = context.memory.rates.of('session openings', {
      perSecond: perMinute / 60,
      burst: perMinute,
    })
  }

  /**
   * Opens a session for a registered agent; one too many ends its oldest. `isJudged`: whether that agent is still as it was
   * judged, which is asked once the session is there: whoever retires its key after that ends the session with the others.
   */
  async open(
    aid: string,
    epk: Uint8Array,
    isJudged: () => Promise<boolean>,
  ): Promise<{ sid: Uint8Array; expMs: number; enc: Uint8Array; ciphertext: Uint8Array }> {
    const { now, identity, limits, memory } = this.#context
    const waitMs = await this.#openings.take(aid, now())
    if (waitMs > 0) throw new Refusal('rateLimited', { retryAfterMs: waitMs })
    const quota = await memory.shares.left(aid, limits.sessionQuota, now())
    const nowMs = now()
    const expMs = nowMs + limits.sessionLifeMs
    const terms = { aid, nowMs, expMs, max: limits.sessionsPerAgentMax }
    const opened = await memory.sessions.open(terms, ({ sid, macKey }) => {
      const sealed = seal(epk, { hub: identity.aid, sid, aid }, { macKey, quota, expMs })
      return { sid, expMs, ...sealed }
    })
    if (await isJudged()) return opened
    await this.endAll(aid)
    throw new Refusal('keyRetired')
  }

  /** The session that a send names, if it lives and its MAC covers exactly this envelope and credential. */
  async judge(use: SessionUse, envelopeDigest: Uint8Array, access: Uint8Array): Promise<Session> {
    const nowMs = this.#context.now()
    const session = await this.#context.memory.sessions.find(use.sid, nowMs)
    if (session === undefined) throw new Refusal('sessionInvalid')
    if (Math.abs(use.tsMs - nowMs) > CLOCK_WINDOW_MS) throw new Refusal('sessionInvalid')
    const covered = { sid: use.sid, tsMs: use.tsMs, envelopeDigest, access }
    if (!verifySessionMac(session.macKey, covered, use.mac)) throw new Refusal('sessionInvalid')
    return session
  }

  /** Ends every session of an agent, because its key state changed or it left. */
  async endAll(aid: string): Promise<void> {
    await this.#context.memory.sessions.endAll(aid)
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
