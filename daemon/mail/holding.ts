/** Holding back what a task still has to send, and letting it go: it stays queued, in its order. */
import type { Context } from '../context.ts'
import { refuse } from '../refusal.ts'
import { holdAll, letGo, queuedOf } from '../store/outbox.ts'
import type { Interaction } from '../store/threads.ts'

type Needs = Pick<Context, 'store' | 'transfers' | 'wakers' | 'events' | 'now'>

/** `queued`: messages that are still here. Refuses where there are none. */
export function setSending(
  { store, transfers, wakers, events, now }: Needs,
  { key, id }: Pick<Interaction, 'key' | 'id'>,
  on: boolean,
): { interaction_id: string; held: boolean; queued: number } {
  const queued = queuedOf(store, key)
  if (queued.length === 0)
    refuse('wrong_state', 'nothing of this task waits on this machine: all of it has left')
  store.transaction(() => {
    if (on) letGo(store, key, now())
    else holdAll(store, key)
    store.afterCommit(() => {
      if (on) wakers.outbox.wake()
      else for (const message of queued) transfers.stop(message)
      events.emit('delivery', { interaction_id: id, state: 'queued' })
    })
  }, 'node.hold')
  return { interaction_id: id, held: !on, queued: queued.length }
}
