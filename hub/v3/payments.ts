/** Payments over wire 3 (hub API §4.4), as x402 makes them: what is refused is an outcome and answers 200. */
import { cidText } from '../../protocol/crypto/hash.ts'
import { fromBase64url, toBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { networkOf, settlementKinds } from '../../protocol/proof/payment.ts'
import { END_EXTENSION } from '../../protocol/proof/quote.ts'
import { PEER_RECEIPT_EXTENSION, RECEIPT_EXTENSION } from '../../protocol/wire3/routes/credits.ts'
import type { Hub } from '../core/hub.ts'
import { PaymentPending, PaymentRefused } from '../core/ledger/refused.ts'
import type { Settled } from '../core/ledger/settlements.ts'
import { SCHEME, type Terms, X402_VERSION } from '../core/ledger/terms.ts'
import { redemptionMembers } from './accounts.ts'
import type { Part } from './handler.ts'

type Names = 'x402Supported' | 'x402Verify' | 'x402Settle' | 'x402Redeem' | 'x402Capture' | 'x402Release'

export function paymentHandlers(hub: Hub): Part<Names | 'fedSettle'> {
  const { credits, peerPayments, statements } = hub
  const { identity } = hub.context
  const network = networkOf(identity.aid)
  return {
    async x402Supported() {
      return {
        kinds: [identity, ...(await peerPayments.peers())].map(({ aid }) => ({
          x402Version: X402_VERSION,
          scheme: SCHEME,
          network: networkOf(aid),
        })),
        extensions: [RECEIPT_EXTENSION, PEER_RECEIPT_EXTENSION, END_EXTENSION],
        signers: { 'hub:*': [identity.aid] },
      }
    },
    async x402Verify({ body }) {
      try {
        const { authorization } = await hub.facilitator.verify(requestOf(body))
        return { isValid: true as const, payer: authorization.body.payer }
      } catch (error) {
        if (!(error instanceof PaymentRefused)) throw error
        return { isValid: false as const, invalidReason: error.code, invalidMessage: error.message }
      }
    },
    x402Settle: ({ body }) => outcome(network, () => settle(hub, body)),
    async fedSettle({ signer, body }) {
      await hub.federation.count(signer)
      const { order } = body.paymentPayload.payload
      return await outcome(network, async () =>
        order === undefined
          ? await withEnd(body, await credits.settle(requestOf(body), signer.aid), id =>
              credits.holds.ended(id),
            )
          : settledMembers(await credits.endFor(signer.aid, fromBase64url(order))),
      )
    },
    x402Redeem: ({ body }) =>
      outcome(network, async () => {
        const settled = await credits.redeem({ ...requestOf(body), reference: body.reference })
        const { extensions: _, ...members } = settledMembers(settled)
        const entry = { settled, reference: await statements.referenceOf(settled) }
        return { ...members, redemption: { ...redemptionMembers(entry), aid: settled.body.payer } }
      }),
    x402Capture: ({ body }) => outcome(network, () => ordered(hub, fromBase64url(body.order), false)),
    x402Release: ({ body }) => outcome(network, () => ordered(hub, fromBase64url(body.order), true)),
  }
}

/** Makes a payment in the credits of this hub, or in those of a peer. */
async function settle({ facilitator }: Hub, body: GivenRequest) {
  const { settled, peerReceipt, ended } = await facilitator.settle(requestOf(body), {
    shown: shownReceipt(body),
  })
  return await withEnd(body, settled, ended, peerReceipt)
}

/** What this hub signed of the payment before, where an agent shows it. */
function shownReceipt({ paymentPayload }: GivenRequest): Uint8Array | undefined {
  const given = paymentPayload.extensions?.[RECEIPT_EXTENSION]
  if (typeof given !== 'string') return undefined
  try {
    return fromBase64url(given)
  } catch {
    return undefined
  }
}

/** Ends a hold of this hub, or one that a peer holds for an agent of this hub. */
async function ordered({ credits, peerPayments }: Hub, order: Uint8Array, releases: boolean) {
  const row = await peerPayments.about(order)
  if (row === undefined) return settledMembers(await credits.end(order, releases))
  await credits.checkOpen()
  const { settled, peerReceipt } = await peerPayments.end(row, order, releases)
  return settledMembers(settled, peerReceipt)
}

/** The members of a payment, with the end of its hold where that was asked for. */
async function withEnd(
  { paymentPayload }: GivenRequest,
  settled: Settled,
  ended: (transaction: Uint8Array) => Promise<Settled | undefined>,
  peerReceipt?: Uint8Array,
) {
  const asksForEnd = paymentPayload.extensions?.[END_EXTENSION] !== undefined
  const isHold = settled.body.kind === settlementKinds.held
  const end = asksForEnd && isHold ? await ended(settled.body.transaction) : undefined
  const { extensions, ...members } = settledMembers(settled, peerReceipt)
  const more = present({ [END_EXTENSION]: end && toBase64url(end.bytes) })
  return { ...members, extensions: { ...extensions, ...more } }
}

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
  paymentPayload: {
    x402Version: number
    accepted: GivenTerms
    payload: { authorization: string }
    extensions?: Record<string, unknown> | undefined
  }
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
      transaction: error instanceof PaymentPending ? cidText(error.transaction) : ('' as const),
      network,
    }
  }
}

function settledMembers({ bytes, body }: Settled, peerReceipt?: Uint8Array) {
  return {
    success: true as const,
    transaction: cidText(body.transaction),
    network: body.network,
    payer: body.payer,
    amount: String(body.amount),
    extensions: {
      [RECEIPT_EXTENSION]: toBase64url(bytes),
      ...present({ [PEER_RECEIPT_EXTENSION]: peerReceipt && toBase64url(peerReceipt) }),
    } as { 'svc.settlement.receipt': string; 'svc.peer.receipt'?: string },
  }
}
