/** Admission of new accounts (hub API §4.2): by the operator, or in open mode by proof of work and a daily quota. */
import { POW_LIFE_MS, powBits, powSeed, powSeedNotAfter } from '../../protocol/identity/pow.ts'
import { addressBucket, addressRange } from './address.ts'
import type { HubContext } from './context.ts'
import { DAY_MS } from './limits.ts'
import { RateBuckets, WindowCounts } from './rate.ts'
import { Refusal } from './refusal.ts'

export const MODE_SETTING = 'admission'

export type Newcomer = {
  aid: string
  pow: { seed: Uint8Array; nonce: Uint8Array } | undefined
  checkOnly: boolean
}

export class Admission {
  readonly #context: HubContext
  readonly #signUps = new WindowCounts(DAY_MS)
  readonly #checks: RateBuckets

  constructor(context: HubContext) {
    this.#context = context
    this.#checks = new RateBuckets(context.limits.checkRate)
  }

  /** Who may become a new account here: those the operator admitted, or in open mode whoever has worked for it. */
  async judge(given: Newcomer, address: string): Promise<'admitted' | 'open'> {
    const { store, limits, now } = this.#context
    if ((await store.account(given.aid)).admitted) return 'admitted'
    if (!(await this.#isOpen())) throw new Refusal('admissionRequired', { aid: given.aid })
    if (given.checkOnly) {
      const retryAfterMs = this.#checks.take(addressBucket(address), now())
      if (retryAfterMs > 0) throw new Refusal('rateLimited', { retryAfterMs })
      return 'open'
    }
    const range = addressRange(address)
    if (this.#signUps.count(range, now()) >= limits.registrationsPerDay)
      throw new Refusal('registrationQuota', { retryAfterMs: this.#signUps.remainingMs(now()) })
    if (!this.#hasWorked(given)) throw new Refusal('powRequired', { challenge: this.#challenge(given.aid) })
    return 'open'
  }

  /** Refuses who has not registered while only the operator lets agents in; whom he has admitted is not looked at. */
  async checkOpen(aid: string): Promise<void> {
    if (!(await this.#isOpen())) throw new Refusal('admissionRequired', { aid })
  }

  async #isOpen(): Promise<boolean> {
    return (await this.#context.store.setting(MODE_SETTING)) === 'open'
  }

  #hasWorked({ aid, pow }: Newcomer): boolean {
    if (pow === undefined) return false
    const { secret, identity, limits, now } = this.#context
    const notAfterMs = powSeedNotAfter(secret, aid, pow.seed)
    if (notAfterMs === undefined || notAfterMs < now()) return false
    return powBits({ hub: identity.aid, aid, seed: pow.seed }, pow.nonce) >= limits.powBits
  }

  #challenge(aid: string): { seed: Uint8Array; bits: number; notAfterMs: number } {
    const { secret, limits, now } = this.#context
    const notAfterMs = now() + POW_LIFE_MS
    return { seed: powSeed(secret, aid, notAfterMs), bits: limits.powBits, notAfterMs }
  }

  /** Counts a new account that came by work, for the range of its address. */
  noteSignUp(address: string): void {
    this.#signUps.add(addressRange(address), this.#context.now())
  }
}
