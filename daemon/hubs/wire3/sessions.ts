/** The session of a first contact: opened when it is needed, renewed before its end. */
import { XWING_SEED_BYTES, xwingPublicKey } from '../../../protocol/crypto/xwing.ts'
import { equal, fromBase64url, toBase64url } from '../../../protocol/encoding/bytes.ts'
import { openSession, type SessionGrant, sessionMac } from '../../../protocol/mail/session.ts'
import { headers as names } from '../../../protocol/wire3/headers.ts'
import { wire3Routes as routes } from '../../../protocol/wire3/routes.ts'
import type { Delivery, HubInputs } from '../hub.ts'
import type { Wire3Calls } from './calls.ts'

/** A session is renewed before its end, so that no envelope is on its way when it goes. */
const SESSION_MARGIN_MS = 60_000

type Session = { sid: Uint8Array; grant: SessionGrant; left: number }

export class Sessions {
  #calls: Pick<Wire3Calls, 'signed' | 'timeMs'>
  #hub: string
  #inputs: Pick<HubInputs, 'random'> & { identity: { aid: string } }
  #session: Promise<Session> | undefined

  constructor(
    calls: Pick<Wire3Calls, 'signed' | 'timeMs'>,
    hub: string,
    inputs: Pick<HubInputs, 'random'> & { identity: { aid: string } },
  ) {
    this.#calls = calls
    this.#hub = hub
    this.#inputs = inputs
  }

  /** Forgets the session, as the identity key changed. */
  drop(): void {
    this.#session = undefined
  }

  /** The hub refused what went under this session; one that was opened since goes on. */
  async refused(sid: Uint8Array): Promise<void> {
    const held = this.#session
    const session = await held?.catch(() => undefined)
    if (session !== undefined && equal(session.sid, sid) && this.#session === held) this.#session = undefined
  }

  /** What an envelope under the session carries beside itself. */
  async headersFor(
    delivery: Pick<Delivery, 'digest' | 'access'>,
  ): Promise<{ sid: Uint8Array; headers: Record<string, string> }> {
    const session = await this.#live()
    session.left -= 1
    const tsMs = this.#calls.timeMs
    const use = { sid: session.sid, tsMs, envelopeDigest: delivery.digest, access: delivery.access }
    const headers = {
      [names.ts]: String(tsMs),
      [names.session]: toBase64url(session.sid),
      [names.mac]: toBase64url(sessionMac(session.grant.macKey, use)),
    }
    return { sid: session.sid, headers }
  }

  /** One for all sends that need one at the same time. */
  async #live(): Promise<Session> {
    for (;;) {
      const asked = this.#session
      const held = await asked?.catch(() => undefined)
      if (this.#session !== asked) continue
      if (held !== undefined && held.left > 0 && this.#calls.timeMs < held.grant.expMs - SESSION_MARGIN_MS)
        return held
      this.#session = this.#open()
      return this.#session
    }
  }

  async #open(): Promise<Session> {
    const seed = this.#inputs.random(XWING_SEED_BYTES)
    const reply = await this.#calls.signed(routes.relaySession, {
      body: { epk: toBase64url(xwingPublicKey(seed)) },
    })
    const sid = fromBase64url(reply.sid)
    const ends = { hub: this.#hub, sid, aid: this.#inputs.identity.aid }
    const grant = openSession(seed, ends, fromBase64url(reply.enc), fromBase64url(reply.ct))
    return { sid, grant, left: grant.quota }
  }
}
