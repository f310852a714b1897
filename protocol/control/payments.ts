/** Operations on prices and payments: what this node asks, and what it may spend without a person. */
import * as z from 'zod'
import { CREDITS_MAX } from '../contract/limits.ts'
import { capTag } from '../contract/shapes.ts'
import { operation } from './operation.ts'
import { spendShape } from './shapes.ts'

const credits = z.int().min(0).max(CREDITS_MAX)
const priceList = z.strictObject({
  prices: z.array(
    z.strictObject({ capability: z.string(), amount: credits, network: z.string().optional() }),
  ),
})

export const paymentOperations = {
  prices: operation('/prices', { method: 'GET', reads: true, reply: priceList }),
  priceSet: operation('/prices/set', {
    reads: false,
    /** An amount of 0 takes the price away. */
    request: z.strictObject({ capability: capTag, amount: credits }),
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
