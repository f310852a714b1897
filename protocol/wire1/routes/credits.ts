/** Credits over wire 1: accounts that anybody may read, payments as x402 makes them, the gateway, and clearing. */
import * as z from 'zod'
import { CREDITS_MAX } from '../../contract/limits.ts'
import { route } from '../../contract/route.ts'
import { aidShape, blob64, count, lineShape, textShape } from '../../contract/shapes.ts'
import { isoTime } from './shapes.ts'

const KIB = 1024
const MIB = 1024 * KIB
/** Bytes of what a hub signs about a payment at most, with room to grow. */
const SIGNED_BYTES_MAX = 2 * KIB
/** Free members (`extensions`, `extra`) hold what others put there. */
const PAYMENT_VALUES_MAX = 1024
const REFERENCE_BYTES_MAX = 256
/** Entries of a ledger where nobody asks for another number. */
export const LEDGER_LIMIT_DEFAULT = 100
/** Entries of a ledger at most. */
export const LEDGER_LIMIT_MAX = 500
/** What a hub signed of a payment, in its answer. */
export const RECEIPT_EXTENSION = 'svc.settlement.receipt'

/** Why a payment is not made. */
export const paymentFailures = [
  'insufficient_funds',
  'invalid_signature',
  'expired',
  'unknown_payer',
  'network_mismatch',
  'malformed_payment',
] as const
/** One of these six words. */
export type PaymentFailure = (typeof paymentFailures)[number]

const failure = z.enum(paymentFailures)
const credits = z.int().min(0).max(CREDITS_MAX)
const text = textShape(512)
const free = z.record(z.string(), z.unknown())
const refused = ['malformed', 'failed'] as const

const terms = z.object({
  scheme: text,
  network: text,
  amount: text,
  asset: text,
  payTo: text,
  extra: free.optional(),
})

/** What a payer sends: to a facilitator in its body, to the gateway in a header. */
export const paymentPayload = z.object({
  x402Version: z.int(),
  accepted: terms,
  payload: z.object({ authorization: z.string().max(4 * KIB) }),
  extensions: free.optional(),
})

const paymentRequest = z.object({
  x402Version: z.int(),
  paymentPayload,
  paymentRequirements: terms.optional(),
})

const notPaid = z.object({
  success: z.literal(false),
  errorReason: failure,
  error: z.string(),
  payer: aidShape.optional(),
  /** Named where the payment waits for another hub. */
  transaction: z.string(),
  network: z.string(),
})
const settled = z.object({
  success: z.literal(true),
  payer: aidShape,
  transaction: z.string(),
  network: z.string(),
  amount: z.string(),
  extensions: z.object({ [RECEIPT_EXTENSION]: blob64(SIGNED_BYTES_MAX) }).loose(),
})

const redemption = z.object({
  auth_id: z.string(),
  aid: aidShape,
  amount: credits,
  reference: z.string(),
  at: isoTime,
  receipt: blob64(SIGNED_BYTES_MAX),
})

const voucherReply = z.object({
  voucher: blob64(SIGNED_BYTES_MAX),
  redeem_at: z.string(),
  capability: z.string(),
  provider: aidShape,
  transaction: z.string(),
  expires_at: isoTime,
  how: z.string(),
})

/** Routes of accounts and payments; amounts are whole credits. */
export const creditRoutes = {
  balance: route({
    method: 'GET',
    path: '/agents/{aid}/balance',
    auth: 'none',
    reply: z.object({ aid: aidShape, network: z.string(), balance: credits, held: credits }),
    codes: ['unknown'],
  }),
  ledger: route({
    method: 'GET',
    path: '/agents/{aid}/ledger',
    auth: 'none',
    query: z.object({ limit: z.string().optional() }),
    reply: z.object({
      aid: aidShape,
      entries: z.array(z.object({ delta: z.int(), reason: z.string(), at: isoTime })),
      returned: count,
      total: count,
      sum: z.int(),
      truncated: z.boolean(),
      note: z.string(),
    }),
    codes: ['unknown'],
  }),
  redemptions: route({
    method: 'GET',
    path: '/agents/{aid}/redemptions',
    auth: 'none',
    reply: z.object({ aid: aidShape, redemptions: z.array(redemption) }),
    codes: ['unknown'],
  }),
  x402Supported: route({
    method: 'GET',
    path: '/x402/supported',
    auth: 'none',
    reply: z.object({
      kinds: z.array(z.object({ x402Version: z.literal(2), scheme: z.string(), network: z.string() })),
    }),
  }),
  x402Verify: route({
    method: 'POST',
    path: '/x402/verify',
    auth: 'none',
    request: paymentRequest,
    reply: z.object({
      isValid: z.boolean(),
      invalidReason: failure.optional(),
      error: z.string().optional(),
      payer: aidShape.optional(),
    }),
    codes: refused,
    limits: { bodyBytes: MIB, values: PAYMENT_VALUES_MAX },
  }),
  x402Settle: route({
    method: 'POST',
    path: '/x402/settle',
    auth: 'none',
    request: paymentRequest,
    reply: z.union([settled, notPaid]),
    codes: refused,
    limits: { bodyBytes: MIB, values: PAYMENT_VALUES_MAX },
  }),
  /** Credits and their record go out as one, so nothing is ever burned without a note: the 400 for that does not occur. */
  x402Redeem: route({
    method: 'POST',
    path: '/x402/redeem',
    auth: 'none',
    request: z.object({
      x402Version: z.int(),
      paymentPayload,
      reference: lineShape(REFERENCE_BYTES_MAX).min(1),
    }),
    reply: z.union([redemption.extend({ success: z.literal(true) }), notPaid]),
    codes: refused,
    limits: { bodyBytes: MIB, values: PAYMENT_VALUES_MAX },
  }),
  gateway: route({
    method: 'GET',
    path: '/x402/resource/{aid}/{capability}',
    auth: 'none',
    reply: voucherReply,
    codes: ['malformed', 'unknown', 'conflict', 'failed'],
  }),
  clear: route({
    method: 'POST',
    path: '/federation/clear',
    auth: 'none',
    request: z.object({ peer_aid: aidShape, receipt: blob64(SIGNED_BYTES_MAX) }),
    reply: z.object({ peer: aidShape, owed: z.int() }),
    codes: ['malformed', 'unauthorized', 'forbidden', 'failed'],
    limits: { bodyBytes: MIB },
  }),
} as const
