/** Where an interaction stands: whose it is, whether it is over, and whether its transcript is complete. */
import { isNumberOpen } from '../store/interactions.ts'
import { unseenAbove } from '../store/messages.ts'
import type { Store } from '../store/open.ts'
import type { Interaction, Threads } from '../store/threads.ts'

const OVER_STATES = new Set(['ended', 'declined', 'cancelled', 'failed', 'expired'])
const OVER_ELSEWHERE =
  'a copy of this node that is lost had ended the task before this was said; start another task'

export const isRequester = (interaction: Pick<Interaction, 'side'>): boolean => interaction.side === 'sent'
export const isOver = (interaction: Pick<Interaction, 'state'>): boolean => OVER_STATES.has(interaction.state)

/** Whether both last messages of the transcript exist. */
export const isCut = (interaction: Interaction): boolean =>
  interaction.ownLast !== null && interaction.peerLast !== null

/** Nobody signs any more: the receipt does not hold, or the provider said why there is none. */
const isWithoutReceipt = (state: Interaction['receiptState']): boolean =>
  state === 'disputed' || state === 'none'

/**
 * What this side waits for from the other one before the task can go on or is signed off by both: what it holds after a
 * restore, its consent to the end, or what it signs.
 */
export function waitingFor(
  interaction: Interaction,
): 'numbers' | 'peer' | 'receipt' | 'counter_signature' | undefined {
  const { state, endBy, receipt, receiptState, counterSignature } = interaction
  if (isNumberOpen(interaction)) return 'numbers'
  if (state === 'end_proposed' && endBy === 'me' && !isCut(interaction)) return 'peer'
  if (state !== 'ended' || !isCut(interaction) || isWithoutReceipt(receiptState)) return undefined
  if (isRequester(interaction)) return receipt === null ? 'receipt' : undefined
  return receipt !== null && counterSignature === null ? 'counter_signature' : undefined
}

/** What nobody has seen above the end of a task fails. */
export function failAbove(store: Store, threads: Threads, { key }: Interaction, number: number): void {
  for (const message of unseenAbove(store, key, number))
    threads.setDelivery(message.key, 'failed', OVER_ELSEWHERE)
}
