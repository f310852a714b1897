/** Why credits came or went, in words of ours only: a ledger has 128 characters of its hub there. */
import * as z from 'zod'

/** `reason` of an entry of `/balance`, docs/operations.md. */
export const ledgerReason = z.enum([
  'trial',
  'grant',
  'paid',
  'received',
  'held',
  'captured',
  'returned',
  'refund',
  'redemption',
  'moved',
  'other',
])
/** A reason in our words; {@link knownReason} makes one of a hub's text. */
export type LedgerReason = z.infer<typeof ledgerReason>

/** What a hub says else is `other`. */
export const knownReason = (said: string): LedgerReason =>
  ledgerReason.options.find(reason => reason === said) ?? 'other'
