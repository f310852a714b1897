/** What `verify` answers. */
import * as z from 'zod'
import { aidShape, millis } from '../contract/shapes.ts'
import { interactionId } from './ids.ts'

/** Verdicts of `verify`. */
export const verifyShape = z.strictObject({
  verdict: z.enum(['valid', 'valid_retired_key', 'invalid']),
  /** One sentence: what was checked and what it says. */
  says: z.string(),
  interaction_id: interactionId,
  provider: aidShape,
  requester: aidShape.optional(),
  status: z.string(),
  receipt_id: z.string(),
  request_cid: z.string(),
  result_cid: z.string(),
  content_checked: z.boolean(),
  counter_signed: z.boolean(),
  /** Sides whose signature was shown and holds. */
  signed_by: z.array(z.enum(['provider', 'requester'])),
  /** Base64 of the receipt, for `verify --receipt`. */
  receipt: z.string().optional(),
  /** Base64 of the provider's key history, for `verify --receipt --kel`. */
  kel: z.string().optional(),
  /** Base64 of a hub's word that it had the receipt, for `verify --receipt --attestation`. */
  attestation: z.string().optional(),
  /** Whether a hub was asked just now if the provider has rotated its key since. */
  key_checked: z.boolean(),
  retired_at: millis.optional(),
  evidence: z.string().optional(),
})
/** `retired_at` in Unix milliseconds; objects §4 has the verdicts. */
export type VerifyVerdict = z.infer<typeof verifyShape>
