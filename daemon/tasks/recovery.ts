/**
 * The end of a task after a restore. This side may have proposed or accepted it in a copy that is lost: the other side says
 * which of its numbers that was, and the task ends there. Every function runs inside a transaction.
 */
import { decodePayload, kinds, type Payload } from '../../protocol/mail/payload.ts'
import { newestOfKind, unseenAbove } from '../store/messages.ts'
import type { Interaction } from '../store/threads.ts'
import { type ConversationNeeds, conclude, isCut, isOver, takeAcceptEnd } from './conversation.ts'

const OVER_ELSEWHERE =
  'a copy of this node that is lost had ended the task before this was said; delegate again or start another task'

/** `last`: the number of this side's last message, as the other side holds it, and whether it proposed the end. */
export function recoverEnd(
  ctx: ConversationNeeds,
  interaction: Interaction,
  last: readonly [number, boolean] | undefined,
): Interaction {
  const ended = last === undefined ? interaction : adoptEnd(ctx, interaction, last)
  const accepted = isCut(ended) || ended.endBy !== 'me' ? undefined : heldAcceptance(ctx, ended)
  if (accepted !== undefined) return takeAcceptEnd(ctx, ended, accepted) ?? ended
  return ended !== interaction && isCut(ended) ? conclude(ctx, ended) : ended
}

function adoptEnd(
  ctx: ConversationNeeds,
  interaction: Interaction,
  [number, isProposal]: readonly [number, boolean],
): Interaction {
  const { threads, store } = ctx
  const isLost = threads.byNumber(interaction.key, 'out', number)?.claimed === 1
  if (!isLost || isOver(interaction) || isCut(interaction)) return interaction
  for (const { key } of unseenAbove(store, interaction.key, number))
    threads.setDelivery(key, 'failed', OVER_ELSEWHERE)
  return threads.update(interaction, {
    state: 'end_proposed',
    endBy: isProposal ? 'me' : 'peer',
    ownLast: number,
    ownEndAt: ctx.hubNow(),
  })
}

/** The acceptance of an end that came before it was known which of this side's ends it is about. */
function heldAcceptance(ctx: ConversationNeeds, { key }: Interaction): Payload<4> | undefined {
  const message = newestOfKind(ctx.store, key, 'in', kinds.acceptEnd)
  const decoded = message === undefined ? undefined : decodePayload(message.kind, message.payload)
  return decoded?.kind === kinds.acceptEnd ? decoded.payload : undefined
}
