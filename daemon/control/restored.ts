/** What a restored node waits for and what it lost, as `status` tells it. */
import { knownReason } from '../../protocol/control/ledger.ts'
import type { NodeStatus } from '../../protocol/control/shapes.ts'
import { shownLine } from '../../protocol/encoding/plain-text.ts'
import { present } from '../../protocol/encoding/present.ts'
import type { CurrentHub } from '../hubs/current.ts'
import { knownLostOrders, type LostOrder } from '../payments/lost-orders.ts'
import type { Contacts } from '../peers/contacts.ts'
import { uncertainInteractions } from '../store/interactions.ts'
import { type LostTask, lostTasks } from '../store/lost.ts'
import type { Store } from '../store/open.ts'
import { lastRestore } from '../store/restores.ts'

const NAMED_MAX = 3
const SHOWN_MAX = 100

/** What a hub says stands on one line. */
export const lostOrderView = ({ state, transaction, amount, atMs, reason, counterparty }: LostOrder) => ({
  transaction: shownLine(transaction),
  amount,
  at: atMs,
  reason: knownReason(reason),
  ...present({ counterparty }),
  state,
})

export class Restored {
  readonly #store: Store
  readonly #contacts: Contacts
  readonly #hubNow: () => number

  constructor(store: Store, contacts: Contacts, hubNow: () => number) {
    this.#store = store
    this.#contacts = contacts
    this.#hubNow = hubNow
  }

  view(): NodeStatus['restored'] {
    const [store, contacts] = [this.#store, this.#contacts]
    const restored = lastRestore(store)
    const waiting = uncertainInteractions(store).length
    const lost = lostTasks(store)
    if (restored === undefined && waiting === 0 && lost.length === 0) return undefined
    const orders = this.#orders().slice(0, SHOWN_MAX).map(lostOrderView)
    return {
      archive_at: restored === undefined || restored.madeAtMs === 0 ? null : restored.madeAtMs,
      waiting,
      lost: lost.slice(0, SHOWN_MAX).map(({ id, peer, side, delegatedAt }) => ({
        interaction_id: id,
        peer,
        peer_name: contacts.petnameOf(peer),
        ...present({ side: side ?? undefined, delegated_at: delegatedAt ?? undefined }),
      })),
      orders,
    }
  }

  /** Sentences of what a restore leaves to be known. */
  warnings({ oldCopy }: Pick<CurrentHub, 'oldCopy'>): string[] {
    const [store, contacts] = [this.#store, this.#contacts]
    const named = (peers: readonly string[]) => listed(peers.map(peer => contacts.petnameOf(peer) ?? peer))
    // a copy that signs nothing has asked nobody
    const open = oldCopy === undefined ? uncertainInteractions(store) : []
    const of = (numbering: string) => open.filter(one => one.numbering === numbering).map(({ peer }) => peer)
    const [asking, awaiting] = [of('asking'), of('awaiting')]
    const sentences: [readonly string[], string][] = [
      [
        asking,
        `this node goes on from an older state, and asked ${named(asking)} which of its messages they hold; until they answer, nothing new leaves in ${tasks(asking.length)} with them`,
      ],
      [
        awaiting,
        `this node goes on from an older state, and the release of ${named(awaiting)} cannot say which of its messages they hold; nothing new leaves in ${tasks(awaiting.length)} with them until they write there`,
      ],
    ]
    const orders = this.#orders()
    return [
      ...sentences.flatMap(([about, sentence]) => (about.length === 0 ? [] : [sentence])),
      ...this.#lostWarnings(),
      ...(orders.length === 0 ? [] : [ordersSentence(orders, contacts)]),
    ]
  }

  /** What is lost, with what whoever reads it can do: it delegated the tasks, it was given them, or nobody has said yet. */
  #lostWarnings(): string[] {
    const contacts = this.#contacts
    const lost = lostTasks(this.#store)
    const said = (side: LostTask['side'], say: (count: string, names: string) => string): string[] => {
      const found = lost.filter(one => one.side === side)
      const names = found.map(one => sayLostTask(one, contacts.petnameOf(one.peer) ?? one.peer))
      return found.length === 0 ? [] : [say(tasks(found.length), listed(names))]
    }
    return [
      ...said(
        'sent',
        (count, names) =>
          `${count} that this node delegated after the backup, it no longer has, and no answer arrives: ${names}; delegate again what you still want; svc balance shows what was paid`,
      ),
      ...said(
        'received',
        (count, names) =>
          `${count} that others delegated came after the backup and cannot be answered here: ${names}; they were told and can delegate anew`,
      ),
      ...said(
        null,
        (count, names) =>
          `${count} came after the backup and cannot go on here: ${names}; the other side was told, and whoever delegated can do so again`,
      ),
    ]
  }

  /** What is said of a task that is named and is not here, where a restore lost it. */
  sayLostHere(id: string): string | undefined {
    const lost = lostTasks(this.#store).find(one => one.id === id)
    if (lost === undefined) return undefined
    const peer = this.#contacts.petnameOf(lost.peer) ?? lost.peer
    if (lost.side !== 'sent')
      return `this node was restored from a backup and no longer has ${id}, a task with ${peer}`
    return `this node was restored from a backup and no longer has ${id}, which it had delegated to ${peer}; delegate it again if you still want it`
  }

  #orders(): LostOrder[] {
    return knownLostOrders(this.#store, this.#hubNow())
  }
}

function sayLostTask({ id, side, delegatedAt }: LostTask, peer: string): string {
  const at = delegatedAt === null ? '' : ` at ${new Date(delegatedAt).toISOString()}`
  return `${id} ${side === 'sent' ? 'to' : 'with'} ${peer}${at}`
}

function ordersSentence(orders: readonly LostOrder[], contacts: Contacts): string {
  const each = orders.map(({ amount, atMs, counterparty, reason }) => {
    const who = counterparty === undefined ? '' : ` to ${contacts.petnameOf(counterparty) ?? counterparty}`
    return `${amount} credits${who} (${knownReason(reason)}) at ${new Date(atMs).toISOString()}`
  })
  const n = orders.length === 1 ? '1 payment was' : `${orders.length} payments were`
  return `${n} made after the backup that was restored and stand not in this node's records, signed by this identity: ${listed(each)}; svc reconcile lists all`
}

const tasks = (n: number): string => (n === 1 ? '1 task' : `${n} tasks`)

function listed(names: readonly string[]): string {
  const each = [...new Set(names)]
  const more = each.length > NAMED_MAX ? ` and ${each.length - NAMED_MAX} more` : ''
  return `${each.slice(0, NAMED_MAX).join(', ')}${more}`
}
