/**
 * The peer's signed word that it holds our numbers. It names numbers and no digests, so it proves nothing of what was
 * numbered since this store came from a backup: the peer may hold another message under that number.
 */
import type { MessageBody } from '../../protocol/mail/message.ts'
import { MISSING_MAX } from '../../protocol/mail/payload.ts'
import type { Interaction } from '../store/threads.ts'
import { unprovenUpTo } from '../store/transcripts.ts'
import { noteDelivered } from '../tasks/delivery.ts'
import { dropClaim, noteClaim } from './claims.ts'
import { doubtNumbersOf, type Telling, tellNumbers } from './numbers.ts'

/** "All up to here is stored" proves the delivery of what is certain at once. */
export function confirmByAnswer(ctx: Telling, interaction: Interaction, body: MessageBody): void {
  const { storedUpTo } = body
  tellNumbers(ctx, interaction, body)
  if (isAhead(ctx, interaction, storedUpTo)) return
  dropClaim(ctx, interaction)
  for (const { key } of unprovenUpTo(ctx.store, interaction.key, storedUpTo)) noteDelivered(ctx, key)
}

/** The peer's last message names what it lacks below the highest number it holds; it holds the rest. */
export function confirmByLists(
  ctx: Telling,
  interaction: Interaction,
  { peerHighest, missing }: { peerHighest: number; missing: readonly number[] },
): void {
  if (isAhead(ctx, interaction, peerHighest) || missing.length === MISSING_MAX) return
  const lacked = new Set(missing)
  for (const { key, number } of unprovenUpTo(ctx.store, interaction.key, peerHighest))
    if (!lacked.has(number)) noteDelivered(ctx, key)
}

/** Whether the peer holds more than was sent from here: then no number of it is known to stand for a message of ours. */
function isAhead(ctx: Telling, interaction: Interaction, upTo: number): boolean {
  if (upTo <= ctx.threads.byKey(interaction.key).numbered) return false
  noteClaim(ctx, interaction.peer, interaction)
  doubtNumbersOf(ctx, interaction)
  return true
}
