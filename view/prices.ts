/** What an agent asked so far: hubs publish no prices, and a price comes with the first task that is handed over. */
import { cleanLine } from './clean.ts'
import type { View } from './state.ts'

export type Asked = { readonly what: string; readonly amount: number; readonly at: number }

/** The newest price of each thing, as far as its tasks are loaded; a task in words is one thing. */
export function pricesAsked({ interactions }: View, peer: string): Asked[] {
  const newest = new Map<string, Asked>()
  for (const item of interactions.values()) {
    const { payment, capability, last_at: at } = item
    if (item.peer !== peer || item.side !== 'sent' || payment === undefined) continue
    const what = capability === undefined ? 'a task in words' : cleanLine(capability, 64)
    const held = newest.get(what)
    if (held === undefined || held.at < at) newest.set(what, { what, amount: payment.amount, at })
  }
  return [...newest.values()].sort((a, b) => (a.what < b.what ? -1 : 1))
}
