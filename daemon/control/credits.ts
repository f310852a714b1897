/** Credits of this agent at its hub, as the hub tells them. */
import { shownLine } from '../../protocol/encoding/plain-text.ts'
import { present } from '../../protocol/encoding/present.ts'
import type { Context } from '../context.ts'
import type { HubClient } from '../hubs/hub.ts'
import { hubAsked } from './hub-call.ts'

const ENTRIES_MAX = 20

const REASONS = [
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
] as const
/** Words of ours only: what a hub says else is `other`. */
const knownReason = (said: string) => REASONS.find(reason => reason === said) ?? ('other' as const)

export async function balanceOf(ctx: Pick<Context, 'contacts' | 'identity'>, hub: HubClient) {
  const account = await hubAsked(ctx.identity, signal => hub.account(ENTRIES_MAX, signal))
  const { network, balance, held, probationUntilMs, trial, entries } = account
  return {
    hub: hub.identity.aid,
    network: shownLine(network),
    balance,
    held,
    ...present({ trial, probation_until: probationUntilMs }),
    entries: entries.map(({ atMs, delta, reason, transaction, counterparty }) => ({
      at: atMs,
      delta,
      reason: knownReason(reason),
      ...present({
        transaction: transaction && shownLine(transaction),
        counterparty,
        contact: (counterparty && ctx.contacts.petnameOf(counterparty)) ?? undefined,
      }),
    })),
  }
}
