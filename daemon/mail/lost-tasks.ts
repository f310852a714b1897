/** Tasks that a restored node no longer has: its correspondents name them, it says which it lacks, and both tell their owners. */
import { fromBase64url, toBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import type { MessageBody } from '../../protocol/mail/message.ts'
import { type DelegatedTask, NAMED_MAX, type Numbers } from '../../protocol/mail/numbers.ts'
import { encodePayload, kinds } from '../../protocol/mail/payload.ts'
import type { Contacts } from '../peers/contacts.ts'
import { tasksSince } from '../store/interactions.ts'
import { type LostTask, lostTasks, noteLost, takeUntold } from '../store/lost.ts'
import type { Store } from '../store/open.ts'
import { paymentOf } from '../store/payments.ts'
import { lastRestore } from '../store/restores.ts'
import type { Threads } from '../store/threads.ts'
import type { TaskNews } from '../tasks/news.ts'

type Lost = Pick<LostTask, 'id' | 'side' | 'delegatedAt' | 'payment'>

/** Lost tasks of which a stranger's is still named. */
const LOST_WITH_STRANGERS_MAX = 32
/** What only a provider says, and only its requester: whoever gets it knows which side of the task it had. */
const OF_PROVIDER: ReadonlySet<number> = new Set([
  kinds.result,
  kinds.receipt,
  kinds.declined,
  kinds.settlements,
  kinds.noReceipt,
])
const OF_REQUESTER: ReadonlySet<number> = new Set([kinds.counterSignature, kinds.cancelled])

export function queueNumbers(threads: Threads, peer: string, numbers: Numbers): void {
  const payload = encodePayload(kinds.numbers, numbers)
  threads.queueLoose(peer, { kind: kinds.numbers, payload, text: '', numbered: false })
}

/** What happened with a peer since then, and what of it the peer had delegated. */
export function sinceThen(store: Store, peer: string, since: number): Pick<Numbers, 'since' | 'delegated'> {
  const tasks = tasksSince(store, peer, since, NAMED_MAX)
  const delegated = tasks.flatMap(({ key, id, side, startedAt }): DelegatedTask[] => {
    if (side === 'sent') return []
    const payment = paymentOf(store, key)?.payment
    return [{ interactionId: fromBase64url(id), atMs: startedAt, ...present({ payment }) }]
  })
  return {
    since: tasks.map(({ id }) => fromBase64url(id)),
    ...present({ delegated: delegated.length === 0 ? undefined : delegated }),
  }
}

/** What an answer names, from the side of this node. */
export function lostOf({ since = [], delegated = [] }: Numbers): Lost[] {
  const own = new Map(delegated.map(one => [toBase64url(one.interactionId), one]))
  return since.map(toBase64url).map(id => {
    const task = own.get(id)
    return task === undefined
      ? { id, side: 'received', delegatedAt: null, payment: null }
      : { id, side: 'sent', delegatedAt: task.atMs, payment: task.payment ?? null }
  })
}

type LostParts = { store: Store; threads: Threads; contacts: Contacts; news: TaskNews }

export class LostTasks {
  readonly #parts: LostParts
  readonly #now: () => number

  constructor(parts: LostParts, now: () => number) {
    this.#parts = parts
    this.#now = now
  }

  /** Keeps the names of tasks that only the peer has, and tells it. */
  name(peer: string, tasks: readonly Lost[]): void {
    const { store, threads } = this.#parts
    for (const lost of tasks)
      if (threads.findById(lost.id) === undefined) noteLost(store, { ...lost, peer, at: this.#now() })
    const untold = takeUntold(store, peer, NAMED_MAX)
    if (untold.length > 0) queueNumbers(threads, peer, { lost: untold.map(id => fromBase64url(id)) })
  }

  /**
   * Somebody writes in a task that is not here: after a restore it is one that was lost. Strangers may make tasks up, so a
   * few of theirs are named.
   */
  noteUnknown({ from, interactionId, kind }: MessageBody): void {
    const { store, contacts } = this.#parts
    // a price is no work that anybody misses
    const isStep = kind !== kinds.delegate && kind !== kinds.quote && interactionId !== undefined
    if (!isStep || lastRestore(store) === undefined) return
    if (!contacts.isContact(from) && lostTasks(store).length >= LOST_WITH_STRANGERS_MAX) return
    const received = OF_REQUESTER.has(kind) ? 'received' : null
    const side = OF_PROVIDER.has(kind) ? 'sent' : received
    this.name(from, [{ id: toBase64url(interactionId), side, delegatedAt: null, payment: null }])
  }

  /** The peer no longer has this task, as far as it knows: what it says there later takes that back. */
  takeLoss(peer: string, id: string): void {
    const { threads, news } = this.#parts
    const interaction = threads.findById(id)
    if (interaction?.peer !== peer || interaction.lostByPeerAt !== null) return
    threads.update(interaction, { lostByPeerAt: this.#now() })
    news.heard(interaction)
  }
}
