/** Payments over wire 3 (hub API §4.4), as x402 makes them: what is refused is an outcome and answers 200. */
import { cidText } from '../../protocol/crypto/hash.ts'
import { fromBase64url, toBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { networkOf, settlementKinds } from '../../protocol/proof/payment.ts'
import { END_EXTENSION } from '../../protocol/proof/quote.ts'
import type { Hub } from '../core/hub.ts'
import { PaymentRefused } from '../core/ledger/refused.ts'
import type { Settled } from '../core/ledger/settlements.ts'
import { SCHEME, type Terms, X402_VERSION } from '../core/ledger/terms.ts'
import { redemptionMembers } from './accounts.ts'
import type { Part } from './handler.ts'

type Names = 'x402Supported' | 'x402Verify' | 'x402Settle' | 'x402Redeem' | 'x402Capture' | 'x402Release'

export function paymentHandlers(hub: Hub): Part<Names> {
  const { credits, statements } = hub
  const { identity } = hub.context
  const network = networkOf(identity.aid)
  return {
    async x402Supported() {
      return {
        kinds: [{ x402Version: X402_VERSION, scheme: SCHEME, network }],
        extensions: [RECEIPT_EXTENSION, END_EXTENSION],
        signers: { 'hub:*': [identity.aid] },
      }
    },
    async x402Verify({ body }) {
      try {
        const { authorization } = await credits.verify(requestOf(body))
        return { isValid: true as const, payer: authorization.body.payer }
      } catch (error) {
        if (!(error instanceof PaymentRefused)) throw error
        return { isValid: false as const, invalidReason: error.code, invalidMessage: error.message }
      }
    },
    x402Settle: ({ body }) =>
      outcome(network, async () => {
        const settled = await credits.settle(requestOf(body))
        const asksForEnd = body.paymentPayload.extensions?.[END_EXTENSION] !== undefined
        const isHold = settled.body.kind === settlementKinds.held
        const end = asksForEnd && isHold ? await credits.holds.ended(settled.body.transaction) : undefined
        const { extensions, ...members } = settledMembers(settled)
        const more = present({ [END_EXTENSION]: end && toBase64url(end.bytes) })
        return { ...members, extensions: { ...extensions, ...more } }
      }),
    x402Redeem: ({ body }) =>
      outcome(network, async () => {
        const settled = await credits.redeem({ ...requestOf(body), reference: body.reference })
        const { extensions: _, ...members } = settledMembers(settled)
        const entry = { settled, reference: await statements.referenceOf(settled) }
        return { ...members, redemption: { ...redemptionMembers(entry), aid: settled.body.payer } }
      }),
    x402Capture: ({ body }) =>
      outcome(network, async () => settledMembers(await credits.end(fromBase64url(body.order), false))),
    x402Release: ({ body }) =>
      outcome(network, async () => settledMembers(await credits.end(fromBase64url(body.order), true))),
  }
}

const RECEIPT_EXTENSION = 'svc.settlement.receipt'

type GivenTerms = {
  scheme: string
  network: string
  asset: string
  amount: string
  payTo: string
  extra?: Record<string, unknown> | undefined
}
type GivenRequest = {
  x402Version: number
  paymentPayload: { x402Version: number; accepted: GivenTerms; payload: { authorization: string } }
  paymentRequirements?: GivenTerms | undefined
}

const termsOf = ({ scheme, network, asset, amount, payTo, extra }: GivenTerms): Terms => ({
  scheme,
  network,
  asset,
  amount,
  payTo,
  extra,
})

function requestOf({ x402Version, paymentPayload, paymentRequirements }: GivenRequest) {
  return {
    versions: [x402Version, paymentPayload.x402Version],
    accepted: termsOf(paymentPayload.accepted),
    required: paymentRequirements && termsOf(paymentRequirements),
    authorization: fromBase64url(paymentPayload.payload.authorization),
  }
}

/** The answer to a payment: what was made of it, or why nothing was, which is an answer as well. */
async function outcome<T>(network: string, settle: () => Promise<T>) {
  try {
    return await settle()
  } catch (error) {
    if (!(error instanceof PaymentRefused)) throw error
    const { code, message } = error
    return {
      success: false as const,
      errorReason: code,
      errorMessage: message,
      transaction: '' as const,
      network,
    }
  }
}

function settledMembers({ bytes, body }: Settled) {
  return {
    success: true as const,
    transaction: cidText(body.transaction),
    network: body.network,
    payer: body.payer,
    amount: String(body.amount),
    extensions: { [RECEIPT_EXTENSION]: toBase64url(bytes) } as { 'svc.settlement.receipt': string },
  }
}
