/** The hub's ledger of this agent beside the evidence chain. */
import type { Context } from '../context.ts'

/** What the hub says it took, against what this identity signed: the evidence chain holds every authorization. */
export function compareLedger(
  { chain }: Pick<Context, 'chain'>,
  entries: readonly { delta: number; transaction: string | undefined; atMs: number }[],
): { transaction: string; delta: number; at: number }[] {
  const records = chain.read({ eventType: 'svc.payment.authorized', limit: Number.MAX_SAFE_INTEGER })
  const signed = new Set(
    records.map(({ payload }) => (payload as { authorization_id?: string }).authorization_id),
  )
  return entries
    .filter(({ delta, transaction }) => delta < 0 && !signed.has(transaction))
    .map(({ transaction = '', delta, atMs }) => ({ transaction, delta, at: atMs }))
}
