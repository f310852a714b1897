/**
 * Debts between two hubs that were paid outside (objects: clearing): the creditor's statement, with which the debtor
 * retires the amount and the creditor issues it. Each books it once, by its running number.
 */
import { type Signed, signed } from '../crypto/signed.ts'
import { type Infer, literal, record, required, text, uint } from '../encoding/record.ts'
import { aid } from '../identity/aid.ts'
import { keyAt, type VerifiedKel } from '../identity/kel.ts'
import { amount, REFERENCE_BYTES_MAX } from './payment.ts'

const BODY_BYTES_MAX = 512
/** Two heads and the signature. */
const SIGNED_OVERHEAD_BYTES = 70
/** Bytes of a statement at most, with its signature; its body has 512, objects §3. */
export const CLEARING_BYTES_MAX = BODY_BYTES_MAX + SIGNED_OVERHEAD_BYTES

/** Keys 1 to 8 of a statement, objects §18; decoding throws {@link Malformed}. */
export const ClearingBody = record('clearing statement', {
  v: required(1, literal(1)),
  creditor: required(2, aid),
  creditorKelSeq: required(3, uint),
  debtor: required(4, aid),
  amount: required(5, amount),
  /** Under which the money came in. */
  reference: required(6, text(REFERENCE_BYTES_MAX)),
  /** Rises with each statement of the creditor. */
  number: required(7, uint),
  /** Unix ms. */
  at: required(8, uint),
})
/** `amount` in whole credits, `at` in Unix milliseconds. */
export type ClearingBody = Infer<typeof ClearingBody>

/** `[body, sig]` by the creditor's identity key. */
export const ClearingStatement = signed('svc-clear/v1', ClearingBody, BODY_BYTES_MAX)
/** As parsed: {@link clearingHolds} checks its signature. */
export type ClearingStatement = Signed<ClearingBody>

/** Whether a statement is that of the creditor whose log this is, under the key state that it names. */
export function clearingHolds(log: VerifiedKel, statement: ClearingStatement): boolean {
  const { creditor, creditorKelSeq } = statement.body
  const key = log.aid === creditor ? keyAt(log, creditorKelSeq) : undefined
  return key !== undefined && ClearingStatement.verify(key, statement)
}
