/** Taking a task out of the lists, and putting it back. */
import type { Context } from '../context.ts'
import { refuse } from '../refusal.ts'
import { markArchived } from '../store/interactions.ts'
import { quoteOf } from '../store/quotes.ts'
import type { Interaction } from '../store/threads.ts'

type Needs = Pick<Context, 'store' | 'events'>

/** Refuses what waits for a yes of this side: it would wait unseen. */
export function setArchived({ store, events }: Needs, interaction: Interaction, on: boolean) {
  const { key, id, peer, state } = interaction
  if (on && waitsForYes(store, interaction))
    refuse('wrong_state', 'this waits for your yes or no; answer it first')
  store.transaction(() => {
    markArchived(store, key, on)
    store.afterCommit(() => events.emit('inbox', { interaction_id: id, peer, state }))
  }, 'node.archive')
  return { interaction_id: id, archived: on }
}

const waitsForYes = (store: Needs['store'], { key, side, state }: Interaction): boolean =>
  side === 'received' ? state === 'pending' : quoteOf(store, key)?.state === 'open'
