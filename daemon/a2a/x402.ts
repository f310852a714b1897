/**
 * x402, version 2, on the A2A interface: what a priced call of this node asks for, what came to pay for it, and what the
 * hub said of that. As HTTP headers, or in the metadata of messages where the client activated the extension.
 */
import * as z from 'zod'
import { cidText } from '../../protocol/crypto/hash.ts'
import {
  fromBase64url,
  fromUtf8,
  Malformed,
  toBase64,
  toBase64url,
  utf8,
} from '../../protocol/encoding/bytes.ts'
import { canonicalJson, type JsonValue, parseJson } from '../../protocol/encoding/json.ts'
import { present } from '../../protocol/encoding/present.ts'
import { Authorization } from '../../protocol/proof/payment.ts'
import {
  paymentRequired,
  type Quote,
  quoteText,
  requirementsOf,
  X402_VERSION,
} from '../../protocol/proof/quote.ts'
import type { PaymentRow } from '../store/payments.ts'

/** Names of the extension: that of x402 itself, and that of the project which it came from. */
export const extensionUris = [
  'https://github.com/google-a2a/a2a-x402/v0.1',
  'https://github.com/google-agentic-commerce/a2a-x402/blob/main/spec/v0.2',
] as const

/** Headers, whose values are base64 of JSON. */
export const headerNames = {
  required: 'PAYMENT-REQUIRED',
  signature: 'PAYMENT-SIGNATURE',
  response: 'PAYMENT-RESPONSE',
} as const

/** Members of the metadata of messages. */
export const metadataKeys = {
  status: 'x402.payment.status',
  required: 'x402.payment.required',
  payload: 'x402.payment.payload',
  receipts: 'x402.payment.receipts',
  error: 'x402.payment.error',
} as const

const HEADER_CHARACTERS_MAX = 16 * 1024

export const headerOf = (value: unknown): string => toBase64(utf8(JSON.stringify(value)))

/** A call has to be paid for first; `why`: what was wrong with what came, `settled`: what the hub said of it. */
export class PaymentNeeded extends Error {
  override name = 'PaymentNeeded'
  readonly required: JsonValue
  readonly settled: object | undefined

  constructor(quote: Quote, why?: string, settled?: object) {
    super(why ?? quoteText(quote))
    this.required = requiredBy(quote, why)
    this.settled = settled
  }
}

export const requiredBy = (quote: Quote, why?: string): JsonValue => ({
  ...(paymentRequired(quote) as { [member: string]: JsonValue }),
  ...present({ error: why }),
})

const payloadShape = z.looseObject({
  x402Version: z.literal(X402_VERSION),
  accepted: z.json(),
  payload: z.strictObject({ authorization: z.string() }),
})

/** The authorization in what came for a quote; throws {@link PaymentNeeded} where it is none for it. */
export function authorizationFor(
  quote: Quote,
  given: JsonValue,
): { authorization: Authorization; encoded: Uint8Array } {
  const read = payloadShape.safeParse(given)
  if (!read.success)
    throw new PaymentNeeded(quote, 'the payment does not have the members of x402, version 2')
  const asked = canonicalJson(requirementsOf(quote) as unknown as JsonValue)
  if (canonicalJson(read.data.accepted as JsonValue) !== asked)
    throw new PaymentNeeded(quote, `the payment accepts other terms; ${quoteText(quote)}`)
  try {
    const encoded = fromBase64url(read.data.payload.authorization)
    return { authorization: Authorization.decode(encoded), encoded }
  } catch (error) {
    if (error instanceof Malformed) throw new PaymentNeeded(quote, 'the authorization cannot be read')
    throw error
  }
}

/** The value of a header; undefined where it is none. */
export function readHeader(text: string): JsonValue | undefined {
  if (text.length > HEADER_CHARACTERS_MAX) return undefined
  try {
    const url = text.trim().replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
    return parseJson(fromUtf8(fromBase64url(url)))
  } catch (error) {
    if (error instanceof Malformed) return undefined
    throw error
  }
}

/** Whether the hub has said something of a payment: it holds it, has ended it, or refused it. */
export const isJudged = ({ state, heldReceipt, endReceipt }: PaymentRow): boolean =>
  state === 'refused' || heldReceipt !== null || endReceipt !== null

/**
 * What became of a payment in the end, as x402 writes it. Undefined before the hub has signed that: while it holds the credits,
 * nobody knows yet whether the call succeeds, so neither success nor failure is claimed.
 */
export function settlementOf(row: PaymentRow): { success: boolean; [member: string]: JsonValue } | undefined {
  const { payer } = Authorization.decode(row.authorization).body
  const { network, endReceipt, moved } = row
  if (row.state === 'refused') return { ...notSettled(row.reason ?? ''), transaction: '', network, payer }
  if (endReceipt === null || moved === null) return undefined
  const extensions = { 'svc.settlement.receipt': toBase64url(endReceipt) }
  const about = { transaction: cidText(row.payment), network, payer, extensions }
  if (moved === 0) return { ...notSettled('the call did not succeed, so its credits go back'), ...about }
  return { success: true, ...about, amount: String(moved) }
}

const notSettled = (errorMessage: string) => ({
  success: false,
  errorReason: 'unexpected_settle_error',
  errorMessage,
})

/** What the metadata of a task's newest status says of its payment. */
export function paymentMetadata(row: PaymentRow): { [member: string]: JsonValue } | undefined {
  if (!isJudged(row)) return undefined
  const settled = settlementOf(row)
  if (settled === undefined) return { [metadataKeys.status]: 'payment-verified' }
  if (!settled.success)
    return {
      [metadataKeys.status]: 'payment-failed',
      [metadataKeys.error]: 'SETTLEMENT_FAILED',
      [metadataKeys.receipts]: [settled],
    }
  return { [metadataKeys.status]: 'payment-completed', [metadataKeys.receipts]: [settled] }
}
