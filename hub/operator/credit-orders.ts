/** Orders about credits: what the hub owes, and what it has to pay out. */
import { cidText } from '../../protocol/crypto/hash.ts'
import { present } from '../../protocol/encoding/present.ts'
import { LISTED_MAX, type OperatorContext, type OrderOf, type OrderResult } from './order-shapes.ts'

/** One page of what was redeemed, newest first. */
export async function redemptions(
  { since, before, limit = LISTED_MAX }: OrderOf<'redemptions'>,
  { store }: OperatorContext,
): Promise<OrderResult> {
  const found = await store.redemptions({ sinceMs: since ?? 0, before, limit: limit + 1 })
  const shown = found.slice(0, limit)
  return {
    redemptions: shown.map(({ atMs, aid, amount, reference, transaction }) => ({
      at: new Date(atMs).toISOString(),
      aid,
      amount,
      // one that came back from a witness has its record alone
      reference: reference ?? null,
      transaction: transaction === undefined ? null : cidText(transaction),
    })),
    ...present({ next: found.length > limit ? shown.at(-1)?.seq : undefined }),
  }
}

/** What an agent has, where it has or had anything. */
export async function creditsOf(aid: string, { store, now }: OperatorContext): Promise<OrderResult> {
  const { balance, held, lapsed } = await store.holdings(aid, now())
  return { balance: balance + lapsed, held: held - lapsed }
}

/** What the hub owes all agents together. */
export async function creditTotals({ store }: Pick<OperatorContext, 'store'>): Promise<OrderResult> {
  const { agents, holds, issued, retired } = await store.creditTotals()
  return { owed: agents + holds, held: holds, issued, redeemed: retired }
}
