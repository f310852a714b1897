/** Taking a task out of the lists, and putting it back. */
import type { Events } from '../platform/events.ts'
import { refuse } from '../refusal.ts'
import { markArchived } from '../store/interactions.ts'
import type { Store } from '../store/open.ts'
import { quoteOf } from '../store/quotes.ts'
import type { Interaction } from '../store/threads.ts'

/** Refuses what waits for a yes of this side: it would wait unseen. */
export function setArchived(store: Store, events: Events, interaction: Interaction, on: boolean) {
  const { key, id, peer, state } = interaction
  if (on && waitsForYes(store, interaction))
    refuse('wrong_state', 'this waits for your yes or no; answer it first')
  store.transaction(() => {
    markArchived(store, key, on)
    store.afterCommit(() => events.emit('inbox', { interaction_id: id, peer, state }))
  }, 'node.archive')
  return { interaction_id: id, archived: on }
}

const waitsForYes = (store: Store, { key, side, state }: Interaction): boolean =>
  side === 'received' ? state === 'pending' : quoteOf(store, key)?.state === 'open'
