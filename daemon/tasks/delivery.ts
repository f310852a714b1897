/** Proof that a message is stored by its recipient, and what follows from it. Runs inside a transaction of the caller. */
import { kinds } from '../../protocol/mail/payload.ts'
import type { Context } from '../context.ts'
import { outboxEntry } from '../store/outbox.ts'
import { noteIntroduced } from '../store/peers.ts'

type Needs = Pick<Context, 'store' | 'threads' | 'events'>

/** A message is proven to be stored by its recipient. */
export function noteDelivered(ctx: Needs, key: number): void {
  const entry = outboxEntry(ctx.store, key)
  if (!ctx.threads.setDelivery(key, 'delivered')) return
  const message = ctx.threads.message(key)
  if (entry !== undefined && entry.introduces !== null)
    noteIntroduced(ctx.store, entry.peer, entry.introduces)
  if (message.interaction === null) return
  const interaction = ctx.threads.byKey(message.interaction)
  if (message.kind === kinds.delegate && interaction.state === 'queued')
    ctx.threads.update(interaction, { state: 'delivered' })
  const about = { interaction_id: interaction.id, number: message.number, state: 'delivered' }
  ctx.store.afterCommit(() => ctx.events.emit('delivery', about))
}
