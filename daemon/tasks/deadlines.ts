/** Tasks of this node that nobody answered by their deadline, and those that are answered after it. */
import type { Context } from '../context.ts'
import { noReason, ownReason } from '../store/reasons.ts'
import { ANSWER_DEADLINE_MS, type DeliveryState, type Interaction } from '../store/threads.ts'
import { overdueTasks } from '../store/transcripts.ts'

type Needs = Pick<Context, 'store' | 'chain' | 'threads' | 'hub' | 'events' | 'now'>

const ROUND_MAX = 100
const DAYS = ANSWER_DEADLINE_MS / 86_400_000

/** Ends what is overdue, with the record that proves it; tells what is known of the way of the task. */
export function expireUnanswered(ctx: Needs): void {
  const { store, threads, chain, events } = ctx
  if (ctx.hub.oldCopy !== undefined) return
  for (const { key, delivery } of overdueTasks(store, ctx.now(), ROUND_MAX))
    store.transaction(() => {
      const interaction = threads.byKey(key)
      const { id, peer, requestCid } = interaction
      chain.append('svc.delegation.expired', {
        interaction_id: id,
        provider_aid: peer,
        request_cid: requestCid,
        delivery,
      })
      threads.update(interaction, { state: 'expired', ...ownReason(sentence(id, delivery)) })
      store.afterCommit(() => events.emit('message', { interaction_id: id, peer, state: 'expired' }))
    }, 'node.expire')
}

function sentence(id: string, delivery: DeliveryState): string {
  const arrived =
    delivery === 'delivered'
      ? 'it arrived'
      : `it is not known to have arrived (${delivery.replace('_', ' ')})`
  return `nobody answered within ${DAYS} days, ${arrived}; a late answer is still taken, svc cancel ${id} withdraws the task`
}

/** An answer came after all. */
export function reopened(ctx: Needs, interaction: Interaction): Interaction {
  return ctx.threads.update(interaction, { state: 'delivered', ...noReason })
}
