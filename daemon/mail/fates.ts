/** What follows from the fate of a message that a hub took. */
import type { Fate } from '../carrier/carrier.ts'
import { LOST_BY_PEER, LOST_BY_REQUESTER, refusedByRecipient } from '../hubs/failures.ts'
import type { Waker } from '../platform/waker.ts'
import type { Store } from '../store/open.ts'
import { endDoubt, isTaskOnItsWay, noteSilence, type OutboxEntry, OVERTOOK } from '../store/outbox.ts'
import type { Verdict } from '../store/seen.ts'
import type { Threads } from '../store/threads.ts'
import type { Deliveries } from '../tasks/delivery.ts'
import { isRequester } from '../tasks/standing.ts'
import { noteUnanswered } from './numbers.ts'
import type { Resending } from './resending.ts'
import type { Settling } from './settling.ts'

type FateParts = {
  store: Store
  threads: Threads
  deliveries: Deliveries
  settling: Settling
  resending: Resending
  outbox: Waker
}

export class Fates {
  readonly #parts: FateParts

  constructor(parts: FateParts) {
    this.#parts = parts
  }

  /** Inside a transaction of the caller. */
  take(entry: OutboxEntry, fate: Fate): void {
    const { settling, resending } = this.#parts
    if (fate.is === 'judged') this.#takeVerdict(entry, fate.verdict)
    else if (fate.is === 'unproven') resending.sendAnew(entry, { why: fate.why })
    // What has expired is given to nobody any more, whatever the hub still calls it.
    else if (fate.is === 'sent_in_vain' || resending.isExpired(entry)) resending.sendAnew(entry)
    else if (fate.is === 'unknown') resending.sendLost(entry)
    else if (!settling.endIfOverdue(entry)) this.#holdsIt(entry)
  }

  #holdsIt({ message, doubted, refusedAs }: OutboxEntry): void {
    const { store, outbox } = this.#parts
    if (refusedAs !== null) noteSilence(store, message)
    if (doubted === 0) return
    endDoubt(store, message)
    store.afterCommit(() => outbox.wake())
  }

  #takeVerdict(entry: OutboxEntry, verdict: Verdict): void {
    const { store, deliveries, settling, resending } = this.#parts
    if (verdict === 'stored') deliveries.note(entry.message)
    else if (verdict !== 'malformed') settling.finish(entry, 'failed', reasonOfVerdict(verdict))
    else if (isTaskOnItsWay(store, entry.message))
      resending.sendAnew(entry, { why: OVERTOOK, waitsFor: 'task' })
    else this.#finishUnusable(entry)
  }

  /** The recipient does not know what it belongs to, or what it is. */
  #finishUnusable(entry: OutboxEntry): void {
    const { threads, settling } = this.#parts
    noteUnanswered(threads, threads.message(entry.message))
    settling.finish(entry, 'failed', this.#whyLost(entry) ?? refusedByRecipient.malformed)
  }

  #whyLost({ interaction }: OutboxEntry): string | undefined {
    const task = interaction === null ? undefined : this.#parts.threads.byKey(interaction)
    if (task === undefined || task.lostByPeerAt === null) return undefined
    return isRequester(task) ? LOST_BY_PEER : LOST_BY_REQUESTER
  }
}

const reasonOfVerdict = (verdict: Verdict): string =>
  (refusedByRecipient as Partial<Record<Verdict, string>>)[verdict] ?? `refused: ${verdict}`
