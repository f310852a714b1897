/** The law of the books: what must hold of the figures of a ledger, whichever engine keeps them. */
import type { LedgerSnapshot, Totals } from './ledger-port.ts'

/** Σ agents + Σ holds = issued − retired + owed by peers − due to peers. */
export const totalsAgree = ({ agents, holds, issued, retired, owedByPeers, dueToPeers }: Totals): boolean =>
  BigInt(agents) + BigInt(holds) ===
  BigInt(issued) - BigInt(retired) + BigInt(owedByPeers) - BigInt(dueToPeers)

/** Whether what stands in the totals is what the rows sum up to. */
export function booksAgree({ totals, recount }: Pick<LedgerSnapshot, 'totals' | 'recount'>): boolean {
  const names = Object.keys(totals) as (keyof Totals)[]
  return recount !== undefined && totalsAgree(totals) && names.every(name => totals[name] === recount[name])
}
