/** Credits of this agent at its hub, as the hub tells them. */
import { knownReason } from '../../protocol/control/ledger.ts'
import { cidText } from '../../protocol/crypto/hash.ts'
import { shownLine } from '../../protocol/encoding/plain-text.ts'
import { present } from '../../protocol/encoding/present.ts'
import { HoldOrder, networkOf } from '../../protocol/proof/payment.ts'
import type { Context } from '../context.ts'
import type { AccountEntry, HubClient } from '../hubs/hub.ts'
import { paymentSaid } from '../payments/account.ts'
import { lostHoldSaid } from '../payments/lost-orders.ts'
import { type LostTask, lostTasks } from '../store/lost.ts'
import { waitingPayments } from '../store/open-payments.ts'
import { hubAsked } from './hub-call.ts'
import { paidState } from './payments.ts'

const ENTRIES_MAX = 20

/** What became of a payment of a task of ours: what its payee took of a hold was paid. */
function becameOf({ store }: Pick<Context, 'store'>, entry: AccountEntry) {
  const row = entry.transaction === undefined ? undefined : paymentSaid(store, entry.transaction)
  if (row === undefined) return lostBecame(store, entry)
  const payment = paidState(store, row)
  const isPaid = payment === 'taken' && row.side === 'payer' && entry.reason === 'held'
  return { payment, ...(isPaid && { reason: 'paid' as const, paid: row.moved ?? row.amount }) }
}

/** The same of what a copy that is lost had ordered. */
function lostBecame(store: Context['store'], { transaction, reason }: AccountEntry) {
  const lost = reason === 'held' && transaction !== undefined ? lostHoldSaid(store, transaction) : undefined
  return lost?.payment === 'taken' ? { ...lost, reason: 'paid' as const } : (lost ?? {})
}

/** Whether an entry is about what this node had signed for a task that it lost, by the word of whom it was for. */
const isPaymentOf = ({ peer, payment }: LostTask, { counterparty, transaction }: AccountEntry): boolean =>
  payment !== null && counterparty === peer && transaction === cidText(payment)

/** What waits for the word of a hub about payments to this agent, and when the hub is asked again. */
function openOf({ store, threads }: Pick<Context, 'store' | 'threads'>, hub: string) {
  const network = networkOf(hub)
  const open = waitingPayments(store).filter(row => row.side === 'payee' && row.network === network)
  return open.map(row => ({
    interaction_id: threads.byKey(row.interaction).id,
    transaction: cidText(row.payment),
    amount: row.amount,
    next_try_at: row.nextAt,
    ...present({
      takes: row.endOrder === null ? undefined : HoldOrder.decode(row.endOrder).body.amount,
      problem: row.problem ?? undefined,
    }),
  }))
}

export async function balanceOf(
  ctx: Pick<Context, 'contacts' | 'identity' | 'store' | 'threads' | 'timers'>,
  hub: HubClient,
) {
  const account = await hubAsked(ctx, signal => hub.credits.account(ENTRIES_MAX, signal))
  const { network, balance, held, probationUntilMs, trial, entries } = account
  const open = openOf(ctx, hub.identity.aid)
  const lost = lostTasks(ctx.store)
  return {
    hub: hub.identity.aid,
    network: shownLine(network),
    balance,
    held,
    ...present({ trial, probation_until: probationUntilMs, open: open.length === 0 ? undefined : open }),
    entries: entries.map(entry => ({
      at: entry.atMs,
      delta: entry.delta,
      reason: knownReason(entry.reason),
      ...becameOf(ctx, entry),
      ...present({
        transaction: entry.transaction && shownLine(entry.transaction),
        counterparty: entry.counterparty,
        lost_task: lost.find(task => isPaymentOf(task, entry))?.id,
        contact: (entry.counterparty && ctx.contacts.petnameOf(entry.counterparty)) ?? undefined,
      }),
    })),
  }
}
