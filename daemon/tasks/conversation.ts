/** Whether this side may still say something in an interaction, and saying it. */
import { MESSAGES_MAX } from '../../protocol/proof/receipt.ts'
import type { PricedAnswers } from '../payments/priced-tasks.ts'
import { refuse } from '../refusal.ts'
import type { Interaction, Outgoing } from '../store/threads.ts'

/** Room for the messages that end an interaction. */
const LAST_MESSAGES = 2
/** An expired task may still be answered, so its requester may also still write. */
const OPEN_STATES = new Set(['queued', 'delivered', 'open', 'end_proposed', 'expired'])

/** Whether this side may still send a numbered message. */
export function maySend(interaction: Interaction): boolean {
  return OPEN_STATES.has(interaction.state) && interaction.ownLast === null
}

/** Nothing is said or signed for a task that its user has not taken. */
export function requireApproval({ id, state }: Interaction): void {
  if (state === 'pending')
    refuse(
      'wrong_state',
      'this task waits for your approval; approve it first, or decline it',
      `svc approve ${id}\nsvc decline ${id}`,
    )
}

/** Queues a message of this side, refusing when the interaction takes no more. */
export function say(
  answers: PricedAnswers,
  interaction: Interaction,
  outgoing: Outgoing,
): ReturnType<PricedAnswers['queue']> {
  requireApproval(interaction)
  if (!maySend(interaction))
    refuse(
      'wrong_state',
      `this interaction is ${interaction.state}; it takes no more messages from this side`,
    )
  if (interaction.numbered >= MESSAGES_MAX - LAST_MESSAGES)
    refuse('wrong_state', `this interaction holds ${MESSAGES_MAX} messages; end it and open another`)
  return answers.queue(interaction, outgoing)
}
