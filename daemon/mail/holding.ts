/** Holding back what a task still has to send, and letting it go: it stays queued, in its order. */
import { kinds } from '../../protocol/mail/payload.ts'
import type { Context } from '../context.ts'
import { refuse } from '../refusal.ts'
import { givenUp } from '../store/messages.ts'
import { holdAll, letGo, queuedOf } from '../store/outbox.ts'
import { paymentOf } from '../store/payments.ts'
import { noReason } from '../store/reasons.ts'
import type { Interaction } from '../store/threads.ts'

type Needs = Pick<Context, 'store' | 'threads' | 'transfers' | 'wakers' | 'events' | 'now'>

/**
 * `queued`: messages that are still here. Letting go also says anew what was given up: the same messages, with all of their
 * time. Refuses where there are none.
 */
export function setSending(
  ctx: Needs,
  interaction: Interaction,
  on: boolean,
): { interaction_id: string; held: boolean; queued: number } {
  const { store, transfers, wakers, events, now } = ctx
  const { key, id } = interaction
  return store.transaction(() => {
    if (on) sayAnew(ctx, interaction)
    const queued = queuedOf(store, key)
    if (queued.length === 0)
      refuse('wrong_state', 'nothing of this task waits on this machine: all of it has left')
    if (on) letGo(store, key, now())
    else holdAll(store, key)
    store.afterCommit(() => {
      if (on) wakers.outbox.wake()
      else for (const message of queued) transfers.stop(message)
      events.emit('delivery', { interaction_id: id, state: 'queued' })
    })
    return { interaction_id: id, held: !on, queued: queued.length }
  }, 'node.hold')
}

/** Puts back what was given up; a task that never got through waits for its delivery again, but not one with a payment. */
function sayAnew({ store, threads }: Needs, interaction: Interaction): void {
  const isUndelivered = interaction.state === 'failed' || interaction.state === 'expired'
  if (isUndelivered && paymentOf(store, interaction.key) !== undefined) return
  const given = givenUp(store, interaction.key)
  for (const { key } of given) threads.queueAgain(key)
  if (isUndelivered && given.some(({ kind }) => kind === kinds.delegate))
    threads.update(interaction, { state: 'queued', ...noReason })
}
