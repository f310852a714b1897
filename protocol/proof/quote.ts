/**
 * Quotes (objects: payment): the answer of a provider that wants to be paid first. What it asks for stands in
 * `payment_required`, as x402 writes it, with one way to pay: credits of a hub, to the provider, for what was asked.
 */
import * as z from 'zod'
import { CREDITS_MAX } from '../contract/limits.ts'
import { Malformed, toBase64url } from '../encoding/bytes.ts'
import type { JsonValue } from '../encoding/json.ts'
import { present } from '../encoding/present.ts'
import { amountOfText, HOLD_MAX_MS, hubOfNetwork } from './payment.ts'

/** Version of x402 that a quote and a payment name, objects §18. */
export const X402_VERSION = 2
/** The scheme of x402 in which credits are paid, objects §18. */
export const SCHEME = 'svc-credit'
/** The asset of x402 that credits are, objects §18. */
export const ASSET = 'credit'
/** What a priced task is called where a capability stands else; no capability may have the name. */
export const TASK = 'task'
const HOLD_SECONDS_MAX = HOLD_MAX_MS / 1000
const PRICE_IN_WORDS = /(\d(?:[\d.,'’_\u00a0\u202f ]{0,30}\d)?)\s{0,4}(?:svc-)?credits?/giu

/** Credits for work of one provider. `what` is the capability, or `task`. */
export type Quote = {
  provider: string
  what: string
  amount: number
  network: string
  /** Seconds for which the credits are held after the authorization; undefined where they go over at once. */
  holdSeconds: number | undefined
  /** Credits that are taken when the work is withdrawn after it began; all of them unless it is said. */
  starts?: number | undefined
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
  extra?: { hold_s?: number; starts?: number }
}

/** The entry of `accepts` (objects §18): amount in digits, `starts` only where it is below the amount. */
export const requirementsOf = (quote: Quote): Requirements => ({
  scheme: SCHEME,
  network: quote.network,
  asset: ASSET,
  amount: String(quote.amount),
  payTo: quote.provider,
  maxTimeoutSeconds: quote.settleSeconds,
  ...present({ extra: extraOf(quote) }),
})

/** All is what a withdrawal costs unless it is said, so all is not said: builds before 0.4 read no `starts`. */
function extraOf({ amount, holdSeconds, starts = amount }: Quote): Requirements['extra'] {
  if (holdSeconds === undefined) return undefined
  return { hold_s: holdSeconds, ...present({ starts: starts === amount ? undefined : starts }) }
}

/** What a payer sends, as x402 writes it. */
export const paymentPayload = (quote: Quote, authorization: Uint8Array) => ({
  x402Version: X402_VERSION,
  accepted: requirementsOf(quote),
  payload: { authorization: toBase64url(authorization) },
})

/** The extension by which a payment asks for the receipt of its end beside that of its hold. */
export const END_EXTENSION = 'svc.settlement.end'

const urlOf = ({ provider, what }: Pick<Quote, 'provider' | 'what'>): string => `svc:${provider}/${what}`

/** The sentence of a quote. */
export const quoteText = ({ what, amount, network }: Quote): string =>
  `${what} costs ${amount} credits on ${network}`

/** Another price than that of its terms, where the sentence of a quote names one. */
export function priceSaid(sentence: string, { amount }: Pick<Quote, 'amount'>): string | undefined {
  for (const [, digits = ''] of sentence.matchAll(PRICE_IN_WORDS))
    if (BigInt(digits.replace(/\D/gu, '')) !== BigInt(amount)) return digits
  return undefined
}

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
        extra: z
          .strictObject({
            hold_s: z.int().min(1).max(HOLD_SECONDS_MAX).optional(),
            starts: z.int().min(0).max(CREDITS_MAX).optional(),
          })
          .optional(),
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
  const { hold_s: holdSeconds, starts } = terms.extra ?? {}
  if (starts !== undefined && starts > amount)
    throw new Malformed('the quote takes more for a withdrawal than for the work')
  return {
    ...asked,
    amount,
    network: terms.network,
    holdSeconds,
    ...present({ starts }),
    settleSeconds: terms.maxTimeoutSeconds,
  }
}
