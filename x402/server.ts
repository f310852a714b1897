/**
 * The paid side: a scheme for `x402ResourceServer.register('hub:*', …)`. Settling is idempotent, so that a lost answer
 * can be asked for again; that one payment is served once, also when it comes many times at the same moment, is what
 * the spent set is for.
 */
import { cidText } from '../protocol/crypto/hash.ts'
import { fromBase64url, Malformed } from '../protocol/encoding/bytes.ts'
import { Authorization, amountOfText, transactionOf } from '../protocol/proof/payment.ts'
import { ASSET, authorizationIn, type Network, type Requirements, SCHEME } from './shapes.ts'

/** Payments that were taken. A set that outlives the process keeps them over a restart. */
export interface SpentSet {
  /** Takes a payment; false where it was taken before. Both at the same moment: one of them is told true. */
  claim(transaction: string, untilMs: number): boolean | Promise<boolean>
  /** Gives back a payment that was not made or not served. */
  release(transaction: string): void | Promise<void>
}

/** Kept in memory for as long as a payment could be settled. */
export class MemorySpentSet implements SpentSet {
  readonly #until = new Map<string, number>()
  readonly #now: () => number

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  claim(transaction: string, untilMs: number): boolean {
    const nowMs = this.#now()
    for (const [held, until] of this.#until) {
      if (until >= nowMs) break
      this.#until.delete(held)
    }
    if (this.#until.has(transaction)) return false
    this.#until.set(transaction, untilMs)
    return true
  }

  release(transaction: string): void {
    this.#until.delete(transaction)
  }
}

type Price = string | number | { asset: string; amount: string; extra?: Record<string, unknown> }
type Paid = { paymentPayload: object; requirements: { extra?: Record<string, unknown> | undefined } }
type Refused = { abort: true; reason: string; message: string }

/** A hub takes an authorization for so long after its end. */
const TOLERANCE_MS = 2 * 60_000
const OVER: Refused = {
  abort: true,
  reason: 'expired',
  message: 'the time of this payment is over; pay again',
}
const SPENT: Refused = {
  abort: true,
  reason: 'duplicate_settlement',
  message: 'this payment was taken for another request; pay again',
}

export class CreditServer {
  readonly scheme = SCHEME
  readonly defaultAssetTransferMethod = 'default'
  /** `authorization`: verify, work, settle · `upfront`: settle, work. */
  readonly paymentFlows = {
    default: { supported: ['authorization', 'upfront'], default: 'authorization' },
  } as const
  readonly schemeHooks
  readonly #spent: SpentSet
  readonly #now: () => number
  /** Payloads whose request took the payment: what another request took is not given back by this one. */
  readonly #takers = new WeakSet<object>()

  constructor(spent: SpentSet = new MemorySpentSet(), now: () => number = Date.now) {
    this.#spent = spent
    this.#now = now
    this.schemeHooks = {
      onAfterVerify: async (paid: Paid & { result: { isValid: boolean } }) =>
        paid.result.isValid ? await this.#claim(paid) : undefined,
      onBeforeSettle: async (paid: Paid) => (isUpfront(paid) ? await this.#claim(paid) : undefined),
      onSettleFailure: async (paid: Paid) => await this.#release(paid),
      onVerifiedPaymentCanceled: async (paid: Paid & { settledPhases: readonly unknown[] }) =>
        paid.settledPhases.length === 0 ? await this.#release(paid) : undefined,
    }
  }

  /** Whole credits: `3`, `'3'` or `{ asset: 'credit', amount: '3' }`. */
  async parsePrice(price: Price, _network: Network) {
    const given = typeof price === 'object' ? price : { asset: ASSET, amount: String(price) }
    if (given.asset !== ASSET || amountOfText(given.amount) === undefined)
      throw new TypeError(
        "a price in credits is a whole number from 1: 3, '3' or { asset: 'credit', amount: '3' }",
      )
    return { asset: ASSET, amount: given.amount, extra: given.extra ?? {} }
  }

  async enhancePaymentRequirements(requirements: Requirements): Promise<Requirements> {
    return requirements
  }

  getAssetDecimals(asset: string): number | undefined {
    return asset === ASSET ? 0 : undefined
  }

  async #claim(paid: Paid): Promise<Refused | undefined> {
    const payment = paymentIn(paid)
    if (payment === undefined) return undefined
    // a hub answers for what it settled for ever; who took it may have been forgotten by then
    if (payment.untilMs <= this.#now()) return OVER
    if (!(await this.#spent.claim(payment.transaction, payment.untilMs))) return SPENT
    this.#takers.add(paid.paymentPayload)
    return undefined
  }

  async #release(paid: Paid): Promise<void> {
    const payment = paymentIn(paid)
    if (payment !== undefined && this.#takers.delete(paid.paymentPayload))
      await this.#spent.release(payment.transaction)
  }
}

const isUpfront = ({ requirements }: Paid): boolean => requirements.extra?.['paymentFlow'] === 'upfront'

/** What is malformed is for the hub to refuse. */
function paymentIn({ paymentPayload }: Paid): { transaction: string; untilMs: number } | undefined {
  const text = authorizationIn(paymentPayload)
  if (text === undefined) return undefined
  try {
    const authorization = Authorization.decode(fromBase64url(text))
    const untilMs = authorization.body.notAfter + TOLERANCE_MS
    return { transaction: cidText(transactionOf(authorization)), untilMs }
  } catch (error) {
    if (error instanceof Malformed) return undefined
    throw error
  }
}
