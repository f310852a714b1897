/**
 * Payments that stand in no task: headers for plain HTTP, credits given back to the hub, and what became of payments of
 * which nothing was heard.
 */
import { toBase64, toBase64url, utf8 } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { AUTHORIZATION_LIFE_MAX_MS, Authorization, HOLD_MAX_MS } from '../../protocol/proof/payment.ts'
import { paymentPayload } from '../../protocol/proof/quote.ts'
import type { HubClient } from '../hubs/hub.ts'
import { refuse } from '../refusal.ts'
import type { Store } from '../store/open.ts'
import type { Moving } from './moving.ts'
import type { OwnRecords } from './own-records.ts'
import type { Reconciling } from './reconciling.ts'
import type { Redeeming } from './redeeming.ts'
import type { PaymentSigner, Terms } from './signing.ts'

/** Seconds that a header for plain HTTP leaves its payee: what servers of x402 ask for where they say nothing. */
const HEADER_SECONDS = 300
/** An authorization is good a little longer than that, so that it can be settled at the end. */
const LEEWAY_MS = 60_000
const HOLD_SECONDS_MAX = HOLD_MAX_MS / 1000

/** What a payee requires, as x402 writes it. */
export type HeaderTerms = Pick<Terms, 'payTo' | 'amount' | 'network'> & {
  interaction: string | undefined
  seconds: number | undefined
  extra: Record<string, unknown> | undefined
  /** An authorization as text, as the hub of the network reads it. */
  textOf?: ((authorization: Uint8Array) => string) | undefined
}

type WalletParts = {
  store: Store
  signer: PaymentSigner
  records: OwnRecords
  redeeming: Redeeming
  moving: Moving
  reconciling: Reconciling
}

export class Wallet {
  readonly #store: Store
  readonly #signer: PaymentSigner
  readonly #records: OwnRecords
  readonly #redeeming: Redeeming
  readonly #moving: Moving
  readonly #reconciling: Reconciling

  constructor({ store, signer, records, redeeming, moving, reconciling }: WalletParts) {
    this.#store = store
    this.#signer = signer
    this.#records = records
    this.#redeeming = redeeming
    this.#moving = moving
    this.#reconciling = reconciling
  }

  /** The value of a `PAYMENT-SIGNATURE` header for requirements that a payee made; settles nothing. */
  header(given: HeaderTerms): string {
    const {
      payTo: provider,
      amount,
      network,
      seconds = HEADER_SECONDS,
      extra = {},
      textOf = toBase64url,
    } = given
    const lifeMs = Math.min(seconds * 1000 + LEEWAY_MS, AUTHORIZATION_LIFE_MAX_MS)
    const holdSeconds = holdSecondsIn(extra)
    return this.#store.transaction(() => {
      const authorization = this.#signer.sign({
        payTo: provider,
        amount,
        network,
        lifeMs,
        ...present({ holdSeconds }),
      })
      this.#records.authorized(given.interaction ?? '', authorization)
      const quote = { provider, what: '', amount, network, holdSeconds: undefined, settleSeconds: seconds }
      const bytes = Authorization.encode(authorization)
      const payload = { ...paymentPayload(quote, bytes), payload: { authorization: textOf(bytes) } }
      // the payee compares all of them with its own, an empty extra as well
      const accepted = { ...payload.accepted, extra }
      return toBase64(utf8(JSON.stringify({ ...payload, accepted })))
    }, 'node.pay')
  }

  /** Gives credits back to the hub, which pays out against the reference; the same again asks for the same redemption. */
  redeem(home: HubClient, amount: number, reference: string, signal: AbortSignal) {
    return this.#redeeming.redeem(home, amount, reference, signal)
  }

  /** Takes credits from a hub that was left to the home; the same again asks for the same move. */
  move(home: HubClient, given: { network: string; amount: number }, signal: AbortSignal) {
    return this.#moving.move(home, given, signal)
  }

  /** What became of payments of which nothing was heard, on both sides. */
  askForReceipts(home: HubClient, signal: AbortSignal) {
    return this.#reconciling.askForReceipts(home, signal)
  }
}

/** For how long the payee wants its credits held; it is signed where it asks for it. */
function holdSecondsIn({ hold_s: seconds }: Record<string, unknown>): number | undefined {
  if (seconds === undefined) return undefined
  if (typeof seconds !== 'number' || !Number.isInteger(seconds) || seconds < 1 || seconds > HOLD_SECONDS_MAX)
    return refuse('bad_request', `expected hold_s in whole seconds, from 1 to ${HOLD_SECONDS_MAX}`)
  return seconds
}
