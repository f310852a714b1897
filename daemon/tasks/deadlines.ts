/** Tasks of this node that nobody answered by their deadline, and those that are answered after it. */
import type { Chain } from '../chain/chain.ts'
import type { CurrentHub } from '../hubs/current.ts'
import type { Store } from '../store/open.ts'
import { noReason, ownReason } from '../store/reasons.ts'
import { ANSWER_DEADLINE_MS, type DeliveryState, type Interaction, type Threads } from '../store/threads.ts'
import { overdueTasks } from '../store/transcripts.ts'
import type { TaskNews } from './news.ts'

const ROUND_MAX = 100
const DAYS = ANSWER_DEADLINE_MS / 86_400_000

type DeadlineParts = { store: Store; threads: Threads; chain: Chain; hub: CurrentHub; news: TaskNews }

export class Deadlines {
  readonly #parts: DeadlineParts
  readonly #now: () => number

  constructor(parts: DeadlineParts, now: () => number) {
    this.#parts = parts
    this.#now = now
  }

  /** Ends what is overdue, with the record that proves it; tells what is known of the way of the task. */
  expireUnanswered(): void {
    const { store, threads, chain, hub, news } = this.#parts
    if (hub.oldCopy !== undefined) return
    for (const { key, delivery } of overdueTasks(store, this.#now(), ROUND_MAX))
      store.transaction(() => {
        const interaction = threads.byKey(key)
        const { id, peer, requestCid } = interaction
        chain.append('svc.delegation.expired', {
          interaction_id: id,
          provider_aid: peer,
          request_cid: requestCid,
          delivery,
        })
        news.heard(threads.update(interaction, { state: 'expired', ...ownReason(sentence(id, delivery)) }))
      }, 'node.expire')
  }
}

function sentence(id: string, delivery: DeliveryState): string {
  const arrived =
    delivery === 'delivered'
      ? 'it arrived'
      : `it is not known to have arrived (${delivery.replace('_', ' ')})`
  return `nobody answered within ${DAYS} days, ${arrived}; a late answer is still taken, svc cancel ${id} withdraws the task`
}

/** An answer came after all. */
export function reopened(threads: Threads, interaction: Interaction): Interaction {
  return threads.update(interaction, { state: 'delivered', ...noReason })
}
