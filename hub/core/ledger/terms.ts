/**
 * What an x402 request says, held to the authorization that comes with it (objects: payment). All of it costs no more
 * than reading; nothing here looks anything up.
 */
import { equal, Malformed } from '../../../protocol/encoding/bytes.ts'
import {
  Authorization,
  amountOfText,
  HOLD_MAX_MS,
  networkOf,
  redemptionPurpose,
  transactionOf,
} from '../../../protocol/proof/payment.ts'
import { otherNetwork, PaymentRefused } from './refused.ts'

export const SCHEME = 'svc-credit'
export const ASSET = 'credit'
export const X402_VERSION = 2
const MS_PER_SECOND = 1000

/** One entry of `accepts`, as far as it decides anything. */
export type Terms = {
  scheme: string
  network: string
  asset: string
  amount: string
  payTo: string
  extra: Record<string, unknown> | undefined
}

export type PaymentRequest = {
  versions: number[]
  accepted: Terms
  /** What the payee asked for; a redemption has none. */
  required: Terms | undefined
  authorization: Uint8Array
  /** Of a redemption. */
  reference?: string | undefined
}

export type Payment = { authorization: Authorization; transaction: Uint8Array }

/** The payment of a request whose parts agree with each other and name this hub's credits. */
export function paymentOf(request: PaymentRequest, hub: string): Payment {
  const authorization = decoded(request.authorization)
  if (request.versions.some(version => version !== X402_VERSION))
    throw new PaymentRefused('invalid_x402_version')
  const terms = [request.accepted, ...(request.required === undefined ? [] : [request.required])]
  if (terms.some(({ scheme }) => scheme !== SCHEME)) throw new PaymentRefused('unsupported_scheme')
  const { body } = authorization
  const network = networkOf(hub)
  if (terms.some(one => one.network !== network) || body.network !== network) throw otherNetwork()
  for (const one of terms) checkTerms(one, body)
  return { authorization, transaction: transactionOf(authorization) }
}

/** The id of the payment that a request is about, whatever its terms are. */
export const transactionIn = ({ authorization }: Pick<PaymentRequest, 'authorization'>): Uint8Array =>
  transactionOf(decoded(authorization))

/** What a payment may be: held as its payee asked, or redeemed for the reference that its payer signed. */
export function checkRules(
  { required, reference }: PaymentRequest,
  body: Authorization['body'],
  nowMs: number,
): void {
  if (body.refundOf !== undefined && body.holdUntil !== undefined) throw misfit('a refund is not held')
  if (body.holdUntil !== undefined && body.holdUntil <= nowMs)
    throw new PaymentRefused('expired', 'its hold would be over already')
  if (required !== undefined) checkHold(required, body)
  else if (body.holdUntil !== undefined) throw misfit('a redemption cannot be held')
  if (reference !== undefined) checkReference(reference, body)
}

export const misfit = (why: string): PaymentRefused => new PaymentRefused('invalid_payload', why)

function decoded(bytes: Uint8Array): Authorization {
  try {
    return Authorization.decode(bytes)
  } catch (error) {
    if (error instanceof Malformed) throw new PaymentRefused('malformed_payment', error.message)
    throw error
  }
}

function checkTerms({ asset, amount, payTo }: Terms, body: Authorization['body']): void {
  if (asset !== ASSET) throw misfit('the asset is not credit')
  if (amountOfText(amount) !== body.amount) throw misfit('another amount was authorized')
  if (payTo !== body.payTo) throw misfit('another payee was authorized')
}

/** A hold is made only where the payee asked for one, and for as long as it asked. */
function checkHold({ extra }: Terms, { holdUntil, notAfter }: Authorization['body']): void {
  const seconds = extra?.['hold_s']
  if (seconds === undefined && holdUntil === undefined) return
  if (seconds === undefined) throw misfit('the payee did not ask for a hold')
  if (!Number.isSafeInteger(seconds)) throw misfit('hold_s is no whole number of seconds')
  if (holdUntil === undefined) throw misfit('the payee asked for a hold')
  const lastsMs = typeof seconds === 'number' ? seconds * MS_PER_SECOND : Number.NaN
  if (holdUntil !== notAfter + lastsMs) throw misfit('the hold lasts for another time than was asked for')
  if (lastsMs > HOLD_MAX_MS) throw misfit('a hold lasts 30 days at most')
}

export function checkReference(reference: string, { purpose, refundOf }: Authorization['body']): void {
  if (purpose === undefined || !equal(purpose, redemptionPurpose(reference)))
    throw misfit('the purpose is not this reference')
  if (refundOf !== undefined) throw misfit('a redemption gives nothing back')
}
