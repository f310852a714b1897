/** Admission of new accounts (hub API §4.2): by the operator, or in open mode by proof of work and a daily quota. */
import { hmacSha256 } from '../../../protocol/crypto/engine.node.ts'
import { labelled } from '../../../protocol/crypto/hash.ts'
import { u64be, utf8 } from '../../../protocol/encoding/bytes.ts'
import { POW_LIFE_MS, powBits, powSeed, powSeedNotAfter } from '../../../protocol/identity/pow.ts'
import type { SignUp, SignUpRefused } from '../../store/port.ts'
import { addressBucket, addressRange } from '../address.ts'
import { RangeList } from '../address-ranges.ts'
import type { HubContext } from '../context.ts'
import { DAY_MS } from '../limits.ts'
import type { Buckets } from '../ports/rates.ts'
import { Refusal } from '../refusal.ts'
import { inviteGone } from './invites.ts'

export const MODE_SETTING = 'admission'
export type AdmissionMode = 'open' | 'closed'
const RANGE_LABEL = 'svc-hub-range/v1'
const RANGE_BYTES = 16
const WORK_USED = 'its seed was used already'

export type Newcomer = {
  aid: string
  pow: { seed: Uint8Array; nonce: Uint8Array } | undefined
  checkOnly: boolean
}

export class Admission {
  readonly #context: HubContext
  readonly #checks: Buckets
  readonly #refusedRanges = new RangeList()

  constructor(context: HubContext) {
    this.#context = context
    this.#checks = context.memory.rates.of('admission checks', context.limits.checkRate)
  }

  /** Who may become a new account here: those the operator admitted, or in open mode whoever has worked for it. */
  async judge(given: Newcomer, address: string): Promise<'admitted' | 'open'> {
    const { store, limits, now } = this.#context
    if (await this.#isAdmitted(given.aid)) return 'admitted'
    if (!(await this.#isOpen())) throw new Refusal('admissionRequired', { aid: given.aid, keptOut: 'closed' })
    if (this.#refusedRanges.holds(await store.refusedRanges(), address))
      throw new Refusal('admissionRequired', { aid: given.aid, keptOut: 'range' })
    if (given.checkOnly) {
      const retryAfterMs = await this.#checks.take(addressBucket(address), now())
      if (retryAfterMs > 0) throw new Refusal('rateLimited', { retryAfterMs })
      return 'open'
    }
    // Both are judged again where the account is stored; here they keep signatures from being checked in vain.
    if ((await store.signUps(this.#place(address))) >= limits.registrationsPerDay)
      throw this.refused('rangeFull', given.aid)
    const why = await this.#workMissing(given)
    if (why !== undefined) throw new Refusal('powRequired', { why, challenge: this.#challenge(given.aid) })
    return 'open'
  }

  /** What the account of somebody who was judged as `open` takes. */
  signUp({ aid, pow }: Newcomer, address: string): SignUp {
    if (pow === undefined) throw new Error('an account by work without a proof')
    const { limits, secret } = this.#context
    return {
      ...this.#place(address),
      perDayMax: limits.registrationsPerDay,
      proof: pow.seed,
      proofUntilMs: powSeedNotAfter(secret, aid, pow.seed) ?? 0,
    }
  }

  /** Why an account that came by work is not made. */
  refused(why: SignUpRefused, aid: string): Refusal {
    if (why === 'proofUsed')
      return new Refusal('powRequired', { why: WORK_USED, challenge: this.#challenge(aid) })
    if (why === 'inviteGone') return inviteGone()
    return new Refusal('registrationQuota', { retryAfterMs: DAY_MS - (this.#context.now() % DAY_MS) })
  }

  /** The day's account of a range; what is stored of the range is a keyed hash that the next day differs. */
  #place(address: string): Pick<SignUp, 'day' | 'range'> {
    const { secret, now } = this.#context
    const day = Math.floor(now() / DAY_MS)
    const text = labelled(RANGE_LABEL, u64be(day), utf8(addressRange(address)))
    return { day, range: new Uint8Array(hmacSha256(secret, text).subarray(0, RANGE_BYTES)) }
  }

  /** Refuses who has not registered while only the operator lets agents in; whom he has admitted is not looked at. */
  async checkOpen(aid: string): Promise<void> {
    if (!(await this.#isOpen())) throw new Refusal('admissionRequired', { aid })
  }

  /** Refuses a new account that the operator did not let in. */
  async checkAdmitted(aid: string): Promise<void> {
    if (!(await this.#isAdmitted(aid))) throw new Refusal('admissionRequired', { aid, keptOut: 'closed' })
  }

  /** Whether the operator let an AID in; one that he blocks is let in by nothing. */
  async #isAdmitted(aid: string): Promise<boolean> {
    await this.checkBlocked(aid)
    return (await this.#context.store.account(aid)).admitted
  }

  /** Refuses whom the operator blocks, or archived. */
  async checkBlocked(aid: string): Promise<void> {
    if ((await this.#context.store.account(aid)).blocked)
      throw new Refusal('admissionRequired', { aid, keptOut: 'blocked' })
    if ((await this.#context.store.archived(aid)) !== undefined)
      throw new Refusal('admissionRequired', { aid, keptOut: 'archived' })
  }

  async #isOpen(): Promise<boolean> {
    return (await this.#context.store.setting(MODE_SETTING)) === 'open'
  }

  /** Why what came is no work for this account. */
  async #workMissing({ aid, pow }: Newcomer): Promise<string | undefined> {
    if (pow === undefined) return 'none came'
    const { secret, identity, limits, now, store } = this.#context
    const notAfterMs = powSeedNotAfter(secret, aid, pow.seed)
    if (notAfterMs === undefined) return 'this hub gave no such seed to this AID'
    if (notAfterMs < now()) return 'the time of its seed is over'
    if (powBits({ hub: identity.aid, aid, seed: pow.seed }, pow.nonce) < limits.powBits)
      return `the nonce does not bring ${limits.powBits} bits with its seed`
    return (await store.isProofUsed(pow.seed)) ? WORK_USED : undefined
  }

  #challenge(aid: string): { seed: Uint8Array; bits: number; notAfterMs: number } {
    const { secret, limits, now } = this.#context
    const notAfterMs = now() + POW_LIFE_MS
    return { seed: powSeed(secret, aid, notAfterMs), bits: limits.powBits, notAfterMs }
  }
}
