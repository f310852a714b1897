/** Entries of a hub that names no transactions, under those of what this node signed and was paid. */
import { cidText } from '../../protocol/crypto/hash.ts'
import type { AccountEntry } from '../hubs/hub.ts'
import type { PaymentRow } from '../store/payments.ts'
import type { Authorized, Signed } from './own-records.ts'

type Known = {
  authorized: readonly Authorized[]
  received: readonly PaymentRow[]
  signed: readonly Signed[]
}

/** Each of what is known explains one entry of its amount, the oldest first; newest first, as they came. */
export function namedEntries(entries: readonly AccountEntry[], known: Known): AccountEntry[] {
  const waiting = changesOf(known)
  const named = entries.toReversed().map(entry => {
    const of = [...waiting].find(([, delta]) => delta === entry.delta)
    if (entry.transaction !== undefined || of === undefined) return entry
    waiting.delete(of[0])
    return { ...entry, transaction: of[0] }
  })
  return named.toReversed()
}

function changesOf({ authorized, received, signed }: Known): Map<string, number> {
  const gains = signed.filter(({ kind }) => kind === 'received' || kind === 'returned')
  return new Map([
    ...authorized.map(({ transaction, amount }) => [transaction, -amount] as const),
    ...received.map(({ payment, amount }) => [cidText(payment), amount] as const),
    ...gains.map(({ transaction, amount }) => [transaction, amount] as const),
  ])
}
