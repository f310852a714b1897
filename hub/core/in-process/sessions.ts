/** Sessions in the memory of one process. */
import { toBase64url } from '../../../protocol/encoding/bytes.ts'
import type { OpenSessions, Session, SessionTerms } from '../ports/sessions.ts'

const SID_BYTES = 16
const MAC_KEY_BYTES = 32

export class SessionsInProcess implements OpenSessions {
  readonly #random: (count: number) => Uint8Array
  readonly #bySid = new Map<string, Session>()
  readonly #byAid = new Map<string, string[]>()

  constructor(random: (count: number) => Uint8Array) {
    this.#random = random
  }

  async open<T>({ aid, nowMs, expMs, max }: SessionTerms, seal: (session: Session) => T): Promise<T> {
    const sid = this.#random(SID_BYTES)
    const session = { sid, aid, macKey: this.#random(MAC_KEY_BYTES), expMs }
    const sealed = seal(session)
    this.#prune(nowMs)
    const name = toBase64url(sid)
    const names = [...(this.#byAid.get(aid) ?? []), name]
    for (const old of names.splice(0, Math.max(0, names.length - max))) this.#bySid.delete(old)
    this.#byAid.set(aid, names)
    this.#bySid.set(name, session)
    return sealed
  }

  async find(sid: Uint8Array, nowMs: number): Promise<Session | undefined> {
    const session = this.#bySid.get(toBase64url(sid))
    return session === undefined || session.expMs <= nowMs ? undefined : session
  }

  async endAll(aid: string): Promise<void> {
    for (const name of this.#byAid.get(aid) ?? []) this.#bySid.delete(name)
    this.#byAid.delete(aid)
  }

  #prune(nowMs: number): void {
    for (const [name, session] of this.#bySid) {
      if (session.expMs > nowMs) break
      this.#bySid.delete(name)
      const left = (this.#byAid.get(session.aid) ?? []).filter(other => other !== name)
      if (left.length === 0) this.#byAid.delete(session.aid)
      else this.#byAid.set(session.aid, left)
    }
  }
}
