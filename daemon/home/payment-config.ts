/** What this node asks for its work, and what it may spend without a person. */
import * as z from 'zod'
import { CREDITS_MAX } from '../../protocol/contract/limits.ts'
import { capTag } from '../../protocol/contract/shapes.ts'
import { parseVerifierKey } from '../../protocol/proof/cosignature.ts'

const PRICES_MAX = 256

/** Whole credits for one call, by capability; 0 makes one free that has a price in its module's settings. */
export const PricesConfig = z
  .record(capTag, z.int().min(0).max(CREDITS_MAX))
  .refine(prices => Object.keys(prices).length <= PRICES_MAX, {
    error: `expected at most ${PRICES_MAX} prices`,
  })

const COSIGNERS_MAX = 16

function isVerifierKey(text: string): boolean {
  try {
    parseVerifierKey(text)
    return true
  } catch {
    return false
  }
}

/** Verifier keys of witnesses of transparency logs, whose cosignatures this node goes by. */
export const CosignersConfig = z
  .array(
    z
      .string()
      .max(400)
      .refine(isVerifierKey, { error: 'expected the verifier key of a witness: name+hash+key' }),
  )
  .max(COSIGNERS_MAX)

const credits = z.int().min(0).max(CREDITS_MAX).default(0)

/** Credits for which no person is asked; nothing while they are 0. */
export const SpendConfig = z.strictObject({
  /** One payment that the node makes by itself. */
  auto_max: credits,
  /** One payment that an agent orders. */
  agent_max: credits,
  /** All of these payments in one UTC day. */
  day_max: credits,
  /** Those of them to one agent. */
  payee_day_max: credits,
})
export type SpendConfig = z.infer<typeof SpendConfig>

export const spendDefaults: SpendConfig = SpendConfig.parse({})
