/**
 * The paying side: a scheme for `x402Client.register('hub:*', …)`. It signs an authorization for exactly what the
 * requirements say; what may be spent is for the client's own `spendControls` to say.
 */
import { randomBytes } from '../protocol/crypto/engine.node.ts'
import { labelled } from '../protocol/crypto/hash.ts'
import { toBase64url } from '../protocol/encoding/bytes.ts'
import { present } from '../protocol/encoding/present.ts'
import { isAid } from '../protocol/identity/aid.ts'
import {
  AUTHORIZATION_LIFE_MAX_MS,
  Authorization,
  AuthorizationBody,
  amountOfText,
  HOLD_MAX_MS,
  hubOfNetwork,
} from '../protocol/proof/payment.ts'
import type { Payer } from './payer.ts'
import { ASSET, type Requirements, SCHEME, X402_VERSION } from './shapes.ts'

const NONCE_BYTES = 16
const MS_PER_SECOND = 1000
/** An authorization is good a little longer than the payee has time, so that it can settle at the end. */
const LEEWAY_MS = 60_000

export type CreditClientOptions = {
  payer: Payer
  /** Longest hold that is signed, in seconds; 0, the default, signs none. */
  holdSecondsMax?: number
  /** Unix ms. */
  now?: () => number
}

export class CreditClient {
  readonly scheme = SCHEME
  readonly #payer: Payer
  readonly #holdSecondsMax: number
  readonly #now: () => number

  constructor({ payer, holdSecondsMax = 0, now = Date.now }: CreditClientOptions) {
    this.#payer = payer
    this.#holdSecondsMax = holdSecondsMax
    this.#now = now
  }

  /** Signs for these requirements; throws where they cannot be met. */
  async createPaymentPayload(
    x402Version: number,
    requirements: Requirements,
  ): Promise<{ x402Version: number; payload: { authorization: string } }> {
    if (x402Version !== X402_VERSION) throw new TypeError('svc-credit is paid with version 2 of x402')
    const { network, asset, payTo, extra, maxTimeoutSeconds } = requirements
    const amount = amountOfText(requirements.amount)
    if (hubOfNetwork(network) === undefined || asset !== ASSET || amount === undefined || !isAid(payTo))
      throw new TypeError('the requirements name no credits of a hub')
    if (!(maxTimeoutSeconds > 0)) throw new TypeError('maxTimeoutSeconds of the requirements is no time')
    const { aid, keyState } = this.#payer
    const notBefore = this.#now()
    const lastsMs = Math.min(maxTimeoutSeconds * MS_PER_SECOND + LEEWAY_MS, AUTHORIZATION_LIFE_MAX_MS)
    const notAfter = notBefore + Math.floor(lastsMs)
    const holdUntil = this.#holdUntil(notAfter, extra?.['hold_s'])
    const body = AuthorizationBody.encode({
      v: 1,
      payer: aid,
      payerKelSeq: keyState,
      payTo,
      amount,
      network,
      nonce: randomBytes(NONCE_BYTES),
      notBefore,
      notAfter,
      ...present({ holdUntil }),
    })
    const signature = await this.#payer.sign(labelled(Authorization.label, body))
    const signed = { body: AuthorizationBody.decode(body), bodyBytes: body, signature }
    return { x402Version, payload: { authorization: toBase64url(Authorization.encode(signed)) } }
  }

  #holdUntil(notAfter: number, seconds: unknown): number | undefined {
    if (seconds === undefined) return undefined
    const whole = typeof seconds === 'number' && Number.isInteger(seconds) && seconds >= 0
    const signs = this.#holdSecondsMax > 0
    if (!whole || !signs || seconds > this.#holdSecondsMax || seconds * MS_PER_SECOND > HOLD_MAX_MS)
      throw new TypeError(`a hold of ${String(seconds)} seconds is not signed; see holdSecondsMax`)
    return notAfter + seconds * MS_PER_SECOND
  }
}
