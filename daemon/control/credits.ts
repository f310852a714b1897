/** Credits of this agent at its hub, as the hub tells them. */
import { knownReason } from '../../protocol/control/ledger.ts'
import { cidText } from '../../protocol/crypto/hash.ts'
import { shownLine } from '../../protocol/encoding/plain-text.ts'
import { present } from '../../protocol/encoding/present.ts'
import { HoldOrder, networkOf } from '../../protocol/proof/payment.ts'
import type { AccountEntry, HubClient } from '../hubs/hub.ts'
import { paymentSaid } from '../payments/account.ts'
import { lostHoldSaid } from '../payments/lost-orders.ts'
import type { Contacts } from '../peers/contacts.ts'
import { type LostTask, lostTasks } from '../store/lost.ts'
import type { Store } from '../store/open.ts'
import { waitingPayments } from '../store/open-payments.ts'
import type { Threads } from '../store/threads.ts'
import { type Asker, hubAsked } from './hub-call.ts'
import { paidState } from './payment-views.ts'

const ENTRIES_MAX = 20

/** What became of a payment of a task of ours: what its payee took of a hold was paid. */
function becameOf(store: Store, entry: AccountEntry) {
  const row = entry.transaction === undefined ? undefined : paymentSaid(store, entry.transaction)
  if (row === undefined) return lostBecame(store, entry)
  const payment = paidState(store, row)
  const isPaid = payment === 'taken' && row.side === 'payer' && entry.reason === 'held'
  return { payment, ...(isPaid && { reason: 'paid' as const, paid: row.moved ?? row.amount }) }
}

/** The same of what a copy that is lost had ordered. */
function lostBecame(store: Store, { transaction, reason }: AccountEntry) {
  const lost = reason === 'held' && transaction !== undefined ? lostHoldSaid(store, transaction) : undefined
  return lost?.payment === 'taken' ? { ...lost, reason: 'paid' as const } : (lost ?? {})
}

/** Whether an entry is about what this node had signed for a task that it lost, by the word of whom it was for. */
const isPaymentOf = ({ peer, payment }: LostTask, { counterparty, transaction }: AccountEntry): boolean =>
  payment !== null && counterparty === peer && transaction === cidText(payment)

/** What waits for the word of a hub about payments to this agent, and when the hub is asked again. */
function openOf(store: Store, threads: Threads, hub: string) {
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

/** The account of this agent at a hub, with what its entries mean here. */
export class Balances {
  readonly #asker: Asker
  readonly #store: Store
  readonly #threads: Threads
  readonly #contacts: Contacts

  constructor(asker: Asker, parts: { store: Store; threads: Threads; contacts: Contacts }) {
    this.#asker = asker
    this.#store = parts.store
    this.#threads = parts.threads
    this.#contacts = parts.contacts
  }

  async at(hub: HubClient) {
    const account = await hubAsked(this.#asker, signal => hub.credits.account(ENTRIES_MAX, signal))
    const { network, balance, held, probationUntilMs, trial, entries } = account
    const open = openOf(this.#store, this.#threads, hub.identity.aid)
    const lost = lostTasks(this.#store)
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
        ...becameOf(this.#store, entry),
        ...present({
          transaction: entry.transaction && shownLine(entry.transaction),
          counterparty: entry.counterparty,
          lost_task: lost.find(task => isPaymentOf(task, entry))?.id,
          contact: (entry.counterparty && this.#contacts.petnameOf(entry.counterparty)) ?? undefined,
        }),
      })),
    }
  }
}
