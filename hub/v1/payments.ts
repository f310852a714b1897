/** Payments over wire 1, as x402 makes them: what is refused is an outcome and answers 200. */
import type * as z from 'zod'
import { cidText } from '../../protocol/crypto/hash.ts'
import { fromBase64, Malformed, toBase64 } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { Authorization, networkOf } from '../../protocol/proof/payment.ts'
import {
  type PaymentFailure,
  type paymentPayload,
  RECEIPT_EXTENSION,
} from '../../protocol/wire1/routes/credits.ts'
import type { Hub } from '../core/hub.ts'
import { PaymentPending, type PaymentReason, PaymentRefused } from '../core/ledger/refused.ts'
import type { Settled } from '../core/ledger/settlements.ts'
import { type PaymentRequest, SCHEME, type Terms } from '../core/ledger/terms.ts'
import { Refusal } from '../core/refusal.ts'
import { redemptionMembers } from './accounts.ts'
import type { Part } from './handler.ts'

type Names = 'x402Supported' | 'x402Verify' | 'x402Settle' | 'x402Redeem' | 'clear'
type Payload = z.infer<typeof paymentPayload>
type GivenTerms = Payload['accepted']

const PEER_RECEIPT_EXTENSION = 'svc.peer.receipt'

/** The six words in which this wire says why nothing was paid. */
export const failureOf = {
  malformed_payment: 'malformed_payment',
  invalid_x402_version: 'malformed_payment',
  unsupported_scheme: 'malformed_payment',
  network_mismatch: 'network_mismatch',
  invalid_payload: 'malformed_payment',
  duplicate_settlement: 'malformed_payment',
  unknown_payer: 'unknown_payer',
  expired: 'expired',
  invalid_signature: 'invalid_signature',
  insufficient_funds: 'insufficient_funds',
  hold_ended: 'malformed_payment',
  peer_limit: 'network_mismatch',
  settlement_pending: 'malformed_payment',
} as const satisfies Record<PaymentReason, PaymentFailure>

/** `isAlone`: without another line, payments across hubs cannot be asked for. */
export function paymentHandlers(hub: Hub, isAlone: boolean): Part<Names> {
  const { credits, facilitator, peerPayments, statements } = hub
  const { identity, peers } = hub.context
  const network = networkOf(identity.aid)
  return {
    async x402Supported() {
      const others = isAlone ? [] : await peerPayments.peers()
      const kinds = [identity, ...others].map(({ aid }) => ({
        x402Version: 2 as const,
        scheme: SCHEME,
        network: networkOf(aid),
      }))
      return { kinds }
    },
    async x402Verify({ body }) {
      try {
        const { authorization } = await facilitator.verify(requestOf(body), { isAlone })
        return { isValid: true, payer: authorization.body.payer }
      } catch (error) {
        if (!(error instanceof PaymentRefused)) throw error
        return {
          isValid: false,
          invalidReason: failureOf[error.code],
          error: error.message,
          ...payerOf(body),
        }
      }
    },
    x402Settle: ({ body }) =>
      outcome(network, body, async () => {
        const shown = shownReceipt(body.paymentPayload)
        const { settled, peerReceipt } = await facilitator.settle(requestOf(body), { shown, isAlone })
        return settledMembers(settled, peerReceipt)
      }),
    x402Redeem: ({ body }) =>
      outcome(network, body, async () => {
        const settled = await credits.redeem({ ...requestOf(body), reference: body.reference })
        const entry = { settled, reference: await statements.referenceOf(settled) }
        return { success: true as const, ...redemptionMembers(entry) }
      }),
    async clear({ body: { peer_aid: aid, receipt } }) {
      const peer = peers.find(aid)
      if (peer === undefined) throw new Refusal('notPeer')
      return { peer: aid, owed: await hub.clearing.shown(peer, fromBase64(receipt)) }
    },
  }
}

type GivenRequest = {
  x402Version: number
  paymentPayload: Payload
  paymentRequirements?: GivenTerms | undefined
}

const termsOf = ({ scheme, network, asset, amount, payTo, extra }: GivenTerms): Terms => ({
  ...{ scheme, network, asset, amount, payTo, extra },
})

/** What a payer sent, as the core takes it; bytes that are none are a payment that is malformed. */
export function givenOf(payload: Payload, ...versions: number[]): Omit<PaymentRequest, 'required'> {
  return {
    versions: [payload.x402Version, ...versions],
    accepted: termsOf(payload.accepted),
    authorization: authorizationIn(payload),
  }
}

function authorizationIn({ payload }: Payload): Uint8Array {
  try {
    return fromBase64(payload.authorization)
  } catch (error) {
    if (error instanceof Malformed) throw new PaymentRefused('malformed_payment', 'it is not base64')
    throw error
  }
}

/** A payee that names no terms of its own asked for what was accepted; nobody asks for a hold here. */
function requestOf({ x402Version, paymentPayload, paymentRequirements }: GivenRequest): PaymentRequest {
  const given = givenOf(paymentPayload, x402Version)
  const required = termsOf(paymentRequirements ?? paymentPayload.accepted)
  return { ...given, required: { ...required, extra: undefined } }
}

/** What this hub signed of the payment before, where an agent shows it. */
function shownReceipt({ extensions }: Payload): Uint8Array | undefined {
  const given = extensions?.[RECEIPT_EXTENSION]
  if (typeof given !== 'string') return undefined
  try {
    return fromBase64(given)
  } catch {
    return undefined
  }
}

/** Who pays, as far as the authorization can be read. */
function payerOf({ paymentPayload }: Pick<GivenRequest, 'paymentPayload'>): { payer?: string } {
  try {
    return { payer: Authorization.decode(authorizationIn(paymentPayload)).body.payer }
  } catch {
    return {}
  }
}

/** Why nothing was paid, as an answer. */
export const failureMembers = (network: string, payload: Payload, refused: PaymentRefused) => ({
  success: false as const,
  errorReason: failureOf[refused.code],
  error: refused.message,
  ...payerOf({ paymentPayload: payload }),
  transaction: refused instanceof PaymentPending ? cidText(refused.transaction) : '',
  network,
})

/** The answer to a payment: what was made of it, or why nothing was, which is an answer as well. */
async function outcome<T>(
  network: string,
  { paymentPayload }: Pick<GivenRequest, 'paymentPayload'>,
  settle: () => Promise<T>,
) {
  try {
    return await settle()
  } catch (error) {
    if (!(error instanceof PaymentRefused)) throw error
    return failureMembers(network, paymentPayload, error)
  }
}

/** What was paid, with the hub's word on it. */
export const settledMembers = ({ bytes, body }: Settled, peerReceipt?: Uint8Array) => ({
  success: true as const,
  payer: body.payer,
  transaction: cidText(body.transaction),
  network: body.network,
  amount: String(body.amount),
  extensions: {
    [RECEIPT_EXTENSION]: toBase64(bytes),
    ...present({ [PEER_RECEIPT_EXTENSION]: peerReceipt && toBase64(peerReceipt) }),
  },
})
