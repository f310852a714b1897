/** What a restored node waits for and what it lost, as `status` tells it. */
import type { NodeStatus } from '../../protocol/control/shapes.ts'
import { shownLine } from '../../protocol/encoding/plain-text.ts'
import { present } from '../../protocol/encoding/present.ts'
import { lastRestore } from '../chain/restored.ts'
import type { Context } from '../context.ts'
import { knownLostOrders, type LostOrder } from '../payments/lost-orders.ts'
import { uncertainInteractions } from '../store/interactions.ts'
import { lostTasks } from '../store/lost.ts'

type Needs = Pick<Context, 'store' | 'contacts' | 'hubNow'>

const NAMED_MAX = 3
const SHOWN_MAX = 100

/** What a hub says stands on one line. */
export const lostOrderView = ({ state, transaction, amount, atMs, reason, counterparty }: LostOrder) => ({
  transaction: shownLine(transaction),
  amount,
  at: atMs,
  reason: shownLine(reason),
  ...present({ counterparty }),
  state,
})

export function restoredView(ctx: Needs): NodeStatus['restored'] {
  const { store, contacts } = ctx
  const restored = lastRestore(store)
  const waiting = uncertainInteractions(store).length
  const lost = lostTasks(store)
  if (restored === undefined && waiting === 0 && lost.length === 0) return undefined
  const orders = knownLostOrders(ctx).slice(0, SHOWN_MAX).map(lostOrderView)
  return {
    archive_at: restored === undefined || restored.madeAtMs === 0 ? null : restored.madeAtMs,
    waiting,
    lost: lost.slice(0, SHOWN_MAX).map(({ id, peer }) => ({
      interaction_id: id,
      peer,
      peer_name: contacts.petnameOf(peer),
    })),
    orders,
  }
}

/** Sentences of what a restore leaves to be known. */
export function restoreWarnings(ctx: Needs): string[] {
  const { store, contacts } = ctx
  const named = (peers: readonly string[]) => listed(peers.map(peer => contacts.petnameOf(peer) ?? peer))
  const open = uncertainInteractions(store)
  const of = (numbering: string) => open.filter(one => one.numbering === numbering).map(({ peer }) => peer)
  const [asking, awaiting] = [of('asking'), of('awaiting')]
  const lost = lostTasks(store)
  const sentences: [readonly string[], string][] = [
    [
      asking,
      `this node goes on from an older state, and asked ${named(asking)} which of its messages they hold; until they answer, nothing new leaves in ${tasks(asking.length)} with them`,
    ],
    [
      awaiting,
      `this node goes on from an older state, and the release of ${named(awaiting)} cannot say which of its messages they hold; nothing new leaves in ${tasks(awaiting.length)} with them until they write there`,
    ],
    [
      lost.map(({ peer }) => peer),
      `${tasks(lost.length)} came after the backup and are lost here: ${listed(lost.map(({ id }) => id))} with ${named(lost.map(({ peer }) => peer))}; ask them to delegate anew`,
    ],
  ]
  const orders = knownLostOrders(ctx)
  if (orders.length > 0)
    sentences.push([orders.map(({ transaction }) => transaction), ordersSentence(orders, contacts)])
  return sentences.flatMap(([about, sentence]) => (about.length === 0 ? [] : [sentence]))
}

function ordersSentence(orders: readonly LostOrder[], contacts: Needs['contacts']): string {
  const each = orders.map(({ amount, atMs, counterparty, reason }) => {
    const who = counterparty === undefined ? '' : ` to ${contacts.petnameOf(counterparty) ?? counterparty}`
    return `${amount} credits${who} (${shownLine(reason)}) at ${new Date(atMs).toISOString()}`
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
