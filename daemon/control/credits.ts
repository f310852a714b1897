/** Credits of this agent at its hub, as the hub tells them. */
import { shownLine } from '../../protocol/encoding/plain-text.ts'
import { present } from '../../protocol/encoding/present.ts'
import type { Context } from '../context.ts'
import type { HubClient } from '../hubs/hub.ts'
import { paymentSaid } from '../payments/account.ts'
import { hubAsked } from './hub-call.ts'
import { paidState } from './payments.ts'

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

/** What became of a payment of a task of ours. */
function becameOf({ store }: Pick<Context, 'store'>, transaction: string) {
  const row = paymentSaid(store, transaction)
  return row && paidState(store, row)
}

export async function balanceOf(ctx: Pick<Context, 'contacts' | 'identity' | 'store'>, hub: HubClient) {
  const account = await hubAsked(ctx.identity, signal => hub.credits.account(ENTRIES_MAX, signal))
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
        payment: transaction === undefined ? undefined : becameOf(ctx, transaction),
        counterparty,
        contact: (counterparty && ctx.contacts.petnameOf(counterparty)) ?? undefined,
      }),
    })),
  }
}
