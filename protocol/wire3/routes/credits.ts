/**
 * Routes of credits (hub API §4.4): an agent's own account, and payments as x402 makes them. A refused payment is an
 * outcome and answers 200; a refused request says the same beside its code.
 */
import * as z from 'zod'
import { route } from '../../contract/route.ts'
import {
  aidShape,
  blobText,
  bytesText,
  count,
  lineShape,
  millis,
  textOf,
  textShape,
} from '../../contract/shapes.ts'
import { AUTHORIZATION_BYTES_MAX, HOLD_ORDER_BYTES_MAX, REFERENCE_BYTES_MAX } from '../../proof/payment.ts'
import { END_EXTENSION } from '../../proof/quote.ts'
import { codes, credits, supplyRecord as record, whole } from './shapes.ts'

const KIB = 1024
const RECEIPT_BYTES_MAX = 1 * KIB
/** What a hub signed of a payment: in its answer, and shown to it again where it may have lost that. */
export const RECEIPT_EXTENSION = 'svc.settlement.receipt'
/** Beside the receipt of the payee's hub: what the hub of the payer signed. */
export const PEER_RECEIPT_EXTENSION = 'svc.peer.receipt'
/** Entries of one page of an account's lists at most. */
export const LEDGER_LIMIT_MAX = 500
/** Free members (`extensions`, `extra`) hold what others put there. */
const PAYMENT_BYTES_MAX = 32 * KIB
const PAYMENT_VALUES_MAX = 1024

const free = z.record(z.string(), z.unknown())
/** A name that a hub gives: of a network, a transaction, a reason, the next page. */
const nameText = textShape(128)
/** Unix milliseconds up to the year 9999, which every calendar writes alike. */
const moment = millis.max(253_402_300_799_999)

/** One entry of `accepts` in x402, version 2. */
const requirements = z.strictObject({
  scheme: textShape(64),
  network: textShape(128),
  amount: textShape(64),
  asset: textShape(64),
  payTo: textShape(64),
  maxTimeoutSeconds: z.number().positive(),
  extra: free.optional(),
})

/** What an operator pays out against, and reads in a list: something to see, on one line. */
const referenceShape = lineShape(REFERENCE_BYTES_MAX).refine(text => text !== '', {
  error: 'expected a reference, which is empty',
})

const paymentPayload = z.strictObject({
  x402Version: z.int(),
  resource: z
    .strictObject({
      url: z.string(),
      description: z.string().optional(),
      mimeType: z.string().optional(),
      serviceName: z.string().optional(),
      tags: z.array(z.string()).optional(),
      iconUrl: z.string().optional(),
    })
    .optional(),
  accepted: requirements,
  payload: z.strictObject({ authorization: blobText(2 * AUTHORIZATION_BYTES_MAX) }),
  extensions: free.optional(),
})

const facilitatorRequest = z.strictObject({
  x402Version: z.int(),
  paymentPayload,
  paymentRequirements: requirements,
})

/** The same from another hub, for an agent of its own; `order` is what that agent signed about a hold. */
export const peerPaymentRequest = facilitatorRequest.extend({
  paymentPayload: paymentPayload.extend({
    payload: paymentPayload.shape.payload.extend({ order: blobText(2 * HOLD_ORDER_BYTES_MAX).optional() }),
  }),
})

const verifyReply = z.union([
  z.strictObject({ isValid: z.literal(true), payer: aidShape }),
  z.strictObject({
    isValid: z.literal(false),
    invalidReason: z.string(),
    invalidMessage: z.string(),
    payer: aidShape.optional(),
  }),
])

const settled = {
  success: z.literal(true),
  transaction: textOf('CID'),
  network: z.string(),
  payer: aidShape,
  amount: z.string(),
  extensions: z.strictObject({
    [RECEIPT_EXTENSION]: blobText(RECEIPT_BYTES_MAX),
    /** What the hub of the payer signed of a payment across two. */
    [PEER_RECEIPT_EXTENSION]: blobText(RECEIPT_BYTES_MAX).optional(),
  }),
}
const notSettled = z.strictObject({
  success: z.literal(false),
  errorReason: z.string(),
  errorMessage: z.string(),
  /** Named where the payment waits for another hub. */
  transaction: z.union([z.literal(''), textOf('CID')]),
  network: z.string(),
  payer: aidShape.optional(),
})
const settleReply = z.union([z.strictObject(settled), notSettled])
/** The end of a hold stands beside its receipt where the payment asked for that, by an extension of the same name. */
export const settleWithEndReply = z.union([
  z.strictObject({
    ...settled,
    extensions: settled.extensions.extend({ [END_EXTENSION]: blobText(RECEIPT_BYTES_MAX).optional() }),
  }),
  notSettled,
])
const orderRequest = z.strictObject({ order: blobText(2 * HOLD_ORDER_BYTES_MAX) })

const redemption = z.strictObject({
  auth_id: textOf('CID'),
  aid: aidShape,
  amount: credits,
  reference: z.string(),
  at: millis,
  receipt: blobText(RECEIPT_BYTES_MAX),
})

/** What a refusal of the request itself says beside `reason` and `error`, so that a client of x402 can read it. */
const notVerified = { members: { isValid: false }, reason: 'invalidReason' } as const
const notPaid = {
  members: { success: false, transaction: '', network: '{network}' },
  reason: 'errorReason',
} as const
/** Bytes and values of a request about a payment at most, wire-3 (Members). */
export const ofPayment = { bodyBytes: PAYMENT_BYTES_MAX, values: PAYMENT_VALUES_MAX }

const account = { window_days: count, oldest_seq: count.nullable() }
const pageOf = { limit: whole(3).optional(), before: whole(16).optional() }

/** Routes of an account and of payments, wire-3 (Members); amounts are whole credits. */
export const creditRoutes = {
  balance: route({
    method: 'GET',
    path: '/agents/{aid}/balance',
    auth: 'signed',
    action: 'balance',
    signer: 'account',
    reply: z.strictObject({
      aid: aidShape,
      network: nameText,
      balance: credits,
      held: credits,
      probation_until: moment.optional(),
      trial: z.enum(['pending', 'granted']).optional(),
    }),
    codes: codes('rate_limited'),
  }),
  ledger: route({
    method: 'GET',
    path: '/agents/{aid}/ledger',
    auth: 'signed',
    action: 'ledger',
    signer: 'account',
    query: z.strictObject(pageOf),
    reply: z.strictObject({
      aid: aidShape,
      ...account,
      entries: z
        .array(
          z.strictObject({
            seq: count,
            at: moment,
            delta: z.int().refine(moved => moved !== 0, { error: 'expected an entry that moves something' }),
            reason: nameText,
            transaction: nameText.optional(),
            counterparty: aidShape.optional(),
          }),
        )
        .max(LEDGER_LIMIT_MAX),
      next: nameText.optional(),
    }),
    codes: codes('rate_limited'),
  }),
  /** What the account signed for its debits, by their transactions; none for those that an earlier release took. */
  authorizations: route({
    method: 'GET',
    path: '/agents/{aid}/authorizations',
    auth: 'signed',
    action: 'authorizations',
    signer: 'account',
    own: true,
    query: z.strictObject(pageOf),
    reply: z.strictObject({
      aid: aidShape,
      ...account,
      entries: z
        .array(
          z.strictObject({
            seq: count,
            at: moment,
            transaction: nameText,
            authorization: blobText(AUTHORIZATION_BYTES_MAX),
          }),
        )
        .max(LEDGER_LIMIT_MAX),
      next: nameText.optional(),
    }),
    codes: codes('rate_limited'),
  }),
  redemptions: route({
    method: 'GET',
    path: '/agents/{aid}/redemptions',
    auth: 'signed',
    action: 'redemptions',
    signer: 'account',
    query: z.strictObject(pageOf),
    reply: z.strictObject({
      aid: aidShape,
      ...account,
      entries: z.array(redemption.omit({ aid: true })).max(LEDGER_LIMIT_MAX),
      next: nameText.optional(),
    }),
    codes: codes('rate_limited'),
  }),
  liabilityProof: route({
    method: 'GET',
    path: '/agents/{aid}/liability-proof',
    auth: 'signed',
    action: 'liab_proof',
    signer: 'account',
    query: z.strictObject({ day: whole(6).optional() }),
    reply: z.strictObject({
      to_day: count,
      from_day: count,
      aid: aidShape,
      balance: credits,
      salt: bytesText(32),
      path: z.array(z.strictObject({ h: bytesText(32), sum: credits, side: z.enum(['left', 'right']) })),
      ledger_hw: count,
      record,
    }),
    codes: codes('rate_limited', 'proof_unavailable'),
  }),
  x402Supported: route({
    method: 'GET',
    path: '/x402/supported',
    auth: 'none',
    reply: z.strictObject({
      kinds: z.array(z.strictObject({ x402Version: z.literal(2), scheme: z.string(), network: z.string() })),
      extensions: z.array(z.string()),
      signers: z.record(z.string(), z.array(aidShape)),
    }),
    codes: codes('rate_limited'),
  }),
  x402Verify: route({
    method: 'POST',
    path: '/x402/verify',
    auth: 'none',
    request: facilitatorRequest,
    reply: verifyReply,
    codes: codes('rate_limited'),
    refused: notVerified,
    limits: ofPayment,
  }),
  x402Settle: route({
    method: 'POST',
    path: '/x402/settle',
    auth: 'none',
    request: facilitatorRequest,
    reply: settleWithEndReply,
    codes: codes('rate_limited'),
    refused: notPaid,
    limits: ofPayment,
  }),
  x402Redeem: route({
    method: 'POST',
    path: '/x402/redeem',
    auth: 'none',
    request: z.strictObject({
      x402Version: z.int(),
      paymentPayload,
      reference: referenceShape,
    }),
    reply: z.union([z.strictObject({ ...settled, redemption }).omit({ extensions: true }), notSettled]),
    codes: codes('rate_limited', 'supply_halted'),
    refused: notPaid,
    limits: ofPayment,
  }),
  x402Capture: route({
    method: 'POST',
    path: '/x402/capture',
    auth: 'none',
    own: true,
    request: orderRequest,
    reply: settleReply,
    codes: codes('rate_limited'),
    refused: notPaid,
    limits: { bodyBytes: 2 * KIB },
  }),
  x402Release: route({
    method: 'POST',
    path: '/x402/release',
    auth: 'none',
    own: true,
    request: orderRequest,
    reply: settleReply,
    codes: codes('rate_limited'),
    refused: notPaid,
    limits: { bodyBytes: 2 * KIB },
  }),
} as const
