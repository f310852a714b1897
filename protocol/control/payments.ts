/** Operations on prices and payments: what this node asks, and what it may spend without a person. */
import * as z from 'zod'
import { CREDITS_MAX } from '../contract/limits.ts'
import { capTag, count, millis } from '../contract/shapes.ts'
import { interactionId } from './ids.ts'
import { atHub, LONG_MS, operation } from './operation.ts'
import { lostOrder, paymentProblem } from './payment-shapes.ts'
import { peerName, spendShape } from './shapes.ts'

const REFERENCE_CHARS_MAX = 256
const credits = z.int().min(0).max(CREDITS_MAX)
const priceList = z.strictObject({
  prices: z.array(
    z.strictObject({
      capability: z.string(),
      amount: credits,
      /** What is taken when the work is withdrawn after it began. */
      starts: credits,
      network: z.string().optional(),
    }),
  ),
})

const transaction = z.string()

/** Rows of prices and payments, in credits; docs/operations.md has their members and codes. */
export const paymentOperations = {
  /** The value of a header for plain HTTP; nothing is settled. */
  payHeader: operation('/pay-header', {
    reads: false,
    request: atHub.extend({
      pay_to: peerName,
      amount: z.int().min(1).max(CREDITS_MAX),
      network: z.string().max(64).optional(),
      interaction_id: interactionId.optional(),
      /** `maxTimeoutSeconds` of the payee's requirements, 300 unless it is said. */
      timeout_s: z.int().min(1).max(3600).optional(),
      /** `extra` of them: its `hold_s` makes it a hold. */
      extra: z.record(z.string().max(64), z.json()).optional(),
    }),
    reply: z.strictObject({ header: z.string() }),
    codes: [
      'unknown_peer',
      'no_hub',
      'no_credits',
      'bad_request',
      'hub_unreachable',
      'hub_refused',
      'hub_incompatible',
    ],
  }),
  redeem: operation('/redeem', {
    reads: false,
    request: atHub.extend({
      amount: z.int().min(1).max(CREDITS_MAX),
      /** What the operator pays out against. */
      reference: z.string().min(1).max(REFERENCE_CHARS_MAX).optional(),
      /** One more, although the same was redeemed before. */
      again: z.boolean().optional(),
    }),
    reply: z.strictObject({
      amount: credits,
      reference: z.string(),
      auth_id: z.string(),
      /** Whether the hub's receipt proves it. */
      verified: z.boolean(),
    }),
    codes: ['wrong_state', 'no_hub', 'no_credits', 'hub_refused', 'hub_unreachable', 'hub_incompatible'],
  }),
  /** From the account at a hub that was left to that at the home. */
  moveCredits: operation('/move-credits', {
    reads: false,
    request: atHub.extend({ amount: z.int().min(1).max(CREDITS_MAX) }),
    reply: z.strictObject({
      amount: credits,
      /** The network whose credits they were. */
      from: z.string(),
      transaction: z.string(),
      /** Whether the receipt of the home proves it. */
      verified: z.boolean(),
    }),
    codes: [
      'wrong_state',
      'bad_request',
      'no_hub',
      'no_credits',
      'hub_refused',
      'hub_unreachable',
      'hub_incompatible',
    ],
  }),
  refund: operation('/refund', {
    reads: false,
    request: z.strictObject({
      interaction_id: interactionId,
      /** All that was taken, where it is not said. */
      amount: z.int().min(1).max(CREDITS_MAX).optional(),
      /** Also where the hub of a restored node gave something back to the same agent, and does not show of what. */
      again: z.boolean().optional(),
    }),
    reply: z.strictObject({
      interaction_id: z.string(),
      amount: credits,
      transaction: z.string(),
      /** Whether the hub's receipt proves it. */
      verified: z.boolean(),
      /** The requester is at another hub: its own node has that hub move it, and this one asks its own what came of that. */
      waits_for: z.literal('requester').optional(),
    }),
    codes: [
      'unknown_interaction',
      'wrong_state',
      'bad_request',
      'no_hub',
      'no_credits',
      'hub_refused',
      'hub_unreachable',
    ],
  }),
  reconcile: operation('/reconcile', {
    reads: false,
    request: atHub,
    reply: z.strictObject({
      network: z.string(),
      /** Entries of the hub's ledger that were compared, of the days that it shows. */
      entries: count,
      agrees: z.boolean(),
      /** Credits that the hub says it took, for which this node signed nothing. */
      unknown: z.array(z.strictObject({ transaction, delta: z.int(), at: millis })),
      /** What it took after the backup that was restored here, and is not in this node's records. */
      after_backup: z.array(lostOrder),
      /** What the hub signed that it moved for this agent, and its ledger has no entry of. */
      missing: z.array(
        z.strictObject({
          transaction,
          kind: z.enum(['paid', 'received', 'returned', 'redeemed']),
          amount: credits,
          at: millis,
        }),
      ),
      /** What the entries come to at least, where the balance says less. */
      short: z.strictObject({ sum: credits, balance: credits }).optional(),
      /**
       * Tasks of whose payment nothing was heard: the hub had made it after all, nobody had used it, or what it held came
       * back.
       */
      settled: z.array(interactionId),
      lapsed: z.array(interactionId),
      returned: z.array(interactionId),
      /** What the hub signed that it holds for this agent, or of it, and of whose end it signed nothing that holds. */
      open: z.array(
        z.strictObject({
          interaction_id: interactionId,
          transaction,
          amount: credits,
          problem: paymentProblem.optional(),
        }),
      ),
    }),
    codes: ['no_hub', 'no_credits', 'hub_unreachable', 'hub_refused', 'hub_incompatible'],
  }),
  auditHub: operation('/audit-hub', {
    reads: false,
    timeoutMs: LONG_MS,
    request: atHub.extend({
      /** Every record from the first on, and every signature. */
      all: z.boolean().optional(),
      /** Pays in credits of this hub again, whatever was found. */
      accept: z.boolean().optional(),
      /** The verifier key of a witness of transparency logs, whose cosignatures count from now on. */
      cosigner: z.string().max(400).optional(),
      /** The name of one that counts no more. */
      forget_cosigner: z.string().max(200).optional(),
    }),
    reply: z.strictObject({
      hub: z.string(),
      verified: z.boolean(),
      /** What can't be true in what the hub published. */
      fault: z.string().optional(),
      /** What it took after the backup that was restored here, and is not in this node's records. */
      after_backup: z.array(lostOrder).optional(),
      records: count,
      head_seq: z.int(),
      head_id: z.string(),
      issued: credits,
      retired: credits,
      /** The UTC day of the newest epoch, and what the hub proved now that it owes this agent at its end. */
      day: count.optional(),
      owed: credits.optional(),
      /** All credits of the hub at the end of that day, and how many of them rest on what other hubs owe it. */
      outstanding: credits.optional(),
      owed_by_peers: credits.optional(),
      /** The newest record that a witness of the hub has seen, and when. */
      witnessed_seq: count.optional(),
      witnessed_at: millis.optional(),
      /** Witnesses of transparency logs that this node goes by and that cosigned a tree which the chain begins with. */
      cosigned: z.array(z.strictObject({ name: z.string(), records: count, at: millis })).optional(),
      /** Those of them of which the hub shows no cosignature. */
      uncosigned: z.array(z.string()).optional(),
    }),
    codes: ['no_hub', 'no_credits', 'bad_request', 'hub_unreachable', 'hub_refused', 'hub_incompatible'],
  }),
  prices: operation('/prices', { method: 'GET', reads: true, reply: priceList }),
  priceSet: operation('/prices/set', {
    reads: false,
    /** An amount of 0 takes the price away. */
    request: z.strictObject({
      capability: capTag,
      amount: credits,
      /** What is taken when the work is withdrawn after it began; all of it, where it is not said. */
      starts: credits.optional(),
    }),
    reply: priceList,
    codes: ['bad_request', 'no_credits'],
  }),
  spend: operation('/spend', {
    method: 'GET',
    reads: true,
    reply: spendShape.extend({
      /** Of today's, by payments that no person ordered or that one did. */
      spent_today: credits,
    }),
  }),
  spendSet: operation('/spend/set', {
    reads: false,
    request: spendShape.partial(),
    reply: spendShape,
    codes: ['bad_request', 'no_credits'],
  }),
} as const
