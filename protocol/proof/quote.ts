/**
 * Quotes (objects: payment): the answer of a provider that wants to be paid first. What it asks for stands in
 * `payment_required`, as x402 writes it, with one way to pay: credits of a hub, to the provider, for what was asked.
 */
import * as z from 'zod'
import { Malformed, toBase64url } from '../encoding/bytes.ts'
import type { JsonValue } from '../encoding/json.ts'
import { present } from '../encoding/present.ts'
import { amountOfText, HOLD_MAX_MS, hubOfNetwork } from './payment.ts'

export const X402_VERSION = 2
export const SCHEME = 'svc-credit'
export const ASSET = 'credit'
/** What a priced task is called where a capability stands else; no capability may have the name. */
export const TASK = 'task'
const HOLD_SECONDS_MAX = HOLD_MAX_MS / 1000

/** Credits for work of one provider. `what` is the capability, or `task`. */
export type Quote = {
  provider: string
  what: string
  amount: number
  network: string
  /** Seconds for which the credits are held after the authorization; undefined where they go over at once. */
  holdSeconds: number | undefined
  /** Seconds within which the provider settles. */
  settleSeconds: number
}

/** What a payment has to fit, as x402 writes it. */
export type Requirements = {
  scheme: string
  network: string
  asset: string
  amount: string
  payTo: string
  maxTimeoutSeconds: number
  extra?: { hold_s: number }
}

export const requirementsOf = (quote: Quote): Requirements => ({
  scheme: SCHEME,
  network: quote.network,
  asset: ASSET,
  amount: String(quote.amount),
  payTo: quote.provider,
  maxTimeoutSeconds: quote.settleSeconds,
  ...present({ extra: quote.holdSeconds === undefined ? undefined : { hold_s: quote.holdSeconds } }),
})

/** What a payer sends, as x402 writes it. */
export const paymentPayload = (quote: Quote, authorization: Uint8Array) => ({
  x402Version: X402_VERSION,
  accepted: requirementsOf(quote),
  payload: { authorization: toBase64url(authorization) },
})

const urlOf = ({ provider, what }: Pick<Quote, 'provider' | 'what'>): string => `svc:${provider}/${what}`

/** The sentence of a quote. */
export const quoteText = ({ what, amount, network }: Quote): string =>
  `${what} costs ${amount} credits on ${network}`

/** The body that asks for payment. */
export const paymentRequired = (quote: Quote): JsonValue => ({
  x402Version: X402_VERSION,
  resource: { url: urlOf(quote) },
  accepts: [requirementsOf(quote)],
})

const shape = z.looseObject({
  x402Version: z.literal(X402_VERSION),
  resource: z.looseObject({ url: z.string() }),
  accepts: z
    .array(
      z.strictObject({
        scheme: z.literal(SCHEME),
        network: z.string(),
        asset: z.literal(ASSET),
        amount: z.string(),
        payTo: z.string(),
        maxTimeoutSeconds: z.int().min(1).max(HOLD_SECONDS_MAX),
        extra: z.strictObject({ hold_s: z.int().min(1).max(HOLD_SECONDS_MAX).optional() }).optional(),
      }),
    )
    .length(1),
})

/** Reads what a provider asks for; throws {@link Malformed} unless it asks for itself and for what it was asked. */
export function readQuote(body: unknown, asked: Pick<Quote, 'provider' | 'what'>): Quote {
  const parsed = shape.safeParse(body)
  const [terms] = parsed.data?.accepts ?? []
  if (!parsed.success || terms === undefined)
    throw new Malformed('the quote does not have the expected members')
  const amount = amountOfText(terms.amount)
  if (amount === undefined) throw new Malformed('the quote names no amount of credits')
  if (hubOfNetwork(terms.network) === undefined) throw new Malformed('the quote names no network of a hub')
  if (terms.payTo !== asked.provider) throw new Malformed('the quote asks for a payment to somebody else')
  if (parsed.data.resource.url !== urlOf(asked)) throw new Malformed('the quote is for something else')
  return {
    ...asked,
    amount,
    network: terms.network,
    holdSeconds: terms.extra?.hold_s,
    settleSeconds: terms.maxTimeoutSeconds,
  }
}
