/** The gateway over wire 1: the price of a capability, and a voucher for whoever pays it. The hub hands on no content. */
import { cidText } from '../../protocol/crypto/hash.ts'
import { fromBase64, Malformed, toBase64, utf8 } from '../../protocol/encoding/bytes.ts'
import { parseJson } from '../../protocol/encoding/json.ts'
import { present } from '../../protocol/encoding/present.ts'
import { paymentPayload } from '../../protocol/wire1/routes/credits.ts'
import type { Bought, Offer, Wanted } from '../core/gateway/gateway.ts'
import type { Hub } from '../core/hub.ts'
import { PaymentRefused } from '../core/ledger/refused.ts'
import { X402_VERSION } from '../core/ledger/terms.ts'
import { Refusal } from '../core/refusal.ts'
import { header } from '../http/headers.ts'
import { jsonText, textReply } from '../http/reply.ts'
import type { Part } from './handler.ts'
import { failureMembers, givenOf, settledMembers } from './payments.ts'

const PAYMENT_REQUIRED = 402
const TIMEOUT_SECONDS = 600
const HOW_TO_PAY =
  'Sign an authorization for these terms, and send this request again with the x402 payment payload, as base64 JSON, in the header PAYMENT-SIGNATURE. The answer has a voucher for one call.'
const HOW_TO_REDEEM =
  'POST {"voucher", "capability", "args"} as JSON to redeem_at within 10 minutes. The provider takes the voucher once.'

export function gatewayHandlers(hub: Hub, baseUrl: () => string): Part<'gateway'> {
  const { gateway } = hub
  return {
    async gateway({ params, headers }) {
      const wanted = { provider: params['aid'] ?? '', capability: decoded(params['capability'] ?? '') }
      const signature = header(headers, 'payment-signature')
      if (signature === undefined) return asked(await gateway.offer(wanted), wanted, baseUrl())
      const payload = payloadOf(signature)
      try {
        return given(await gateway.buy(wanted, givenOf(payload)))
      } catch (error) {
        if (!(error instanceof PaymentRefused)) throw error
        const offer = await gateway.offer(wanted)
        return asked(offer, wanted, baseUrl(), {
          error: error.message,
          response: failureMembers(offer.terms.network, payload, error),
        })
      }
    },
  }
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    throw new Refusal('capabilityNotSold')
  }
}

function payloadOf(signature: string) {
  const malformed = (why: string) => new Refusal('requestMalformed', { why: `PAYMENT-SIGNATURE ${why}` })
  try {
    const read = paymentPayload.safeParse(parseJson(fromBase64(signature)))
    if (read.success) return read.data
  } catch (error) {
    if (!(error instanceof Malformed)) throw error
    throw malformed('is no JSON in base64')
  }
  throw malformed('is no payment payload of x402')
}

const header64 = (value: unknown): string => toBase64(utf8(JSON.stringify(value)))

type Failed = { error: string; response: unknown }

/** 402: what it costs, in the header for clients of x402 and in the body for everybody. */
function asked(
  { terms, redeemAt }: Offer,
  { provider, capability }: Wanted,
  baseUrl: string,
  failed?: Failed,
) {
  const { extra: _, ...accepted } = terms
  const path = `/x402/resource/${provider}/${encodeURIComponent(capability)}`
  const required = {
    x402Version: X402_VERSION,
    accepts: [{ ...accepted, maxTimeoutSeconds: TIMEOUT_SECONDS }],
    resource: { url: `${baseUrl}${path}`, description: `one call of ${capability} by ${provider}` },
    ...present({ error: failed?.error }),
  }
  const body = { ...required, redeem_at: redeemAt, how: HOW_TO_PAY }
  const more = {
    'PAYMENT-REQUIRED': header64(required),
    ...present({ 'PAYMENT-RESPONSE': failed && header64(failed.response) }),
  }
  return textReply('application/json', jsonText(body), more, PAYMENT_REQUIRED)
}

/** 200: the voucher, the same for a payment that is shown again. */
function given({ settled, voucher, body, redeemAt }: Bought) {
  const answer = {
    voucher: toBase64(voucher),
    redeem_at: redeemAt,
    capability: body.capability,
    provider: body.provider,
    transaction: cidText(body.transaction),
    expires_at: new Date(body.notAfter).toISOString(),
    how: HOW_TO_REDEEM,
  }
  const more = { 'PAYMENT-RESPONSE': header64(settledMembers(settled)) }
  return textReply('application/json', jsonText(answer), more)
}
