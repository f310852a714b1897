/** What can be done with a task now, by the list that the node gives with its conversation, or by its state until that is here; and why something cannot. */
import type { InteractionState, InteractionSummary } from '../protocol/control/shapes.ts'
import type { Action } from './keys.ts'
import { isQuote, sayState } from './sentences.ts'
import type { View } from './state.ts'

/** The node's words for what keys do. */
const NEEDED: Partial<Record<Action, readonly string[]>> = {
  reply: ['message'],
  editor: ['message'],
  attach: ['message'],
  end: ['end', 'accept_end'],
  accept_end: ['accept_end'],
  approve: ['approve'],
  decline: ['decline'],
  cancel: ['cancel'],
  rate: ['review'],
}

const over: readonly string[] = ['review']
const BY_STATE: Record<InteractionState, readonly string[]> = {
  queued: ['message', 'end', 'cancel'],
  delivered: ['message', 'end', 'cancel'],
  pending: ['approve', 'decline'],
  open: ['message', 'end', 'cancel', 'decline'],
  end_proposed: ['message', 'end', 'accept_end', 'cancel', 'decline'],
  ended: over,
  declined: over,
  cancelled: over,
  failed: over,
  expired: over,
}

export function allows(view: View, item: InteractionSummary, action: Action): boolean {
  // a price is no task: nothing of it is verified or rated
  if (isQuote(item) && (action === 'verify' || action === 'rate')) return false
  if (action === 'verify') return item.receipt !== undefined
  if (action === 'hold') return item.delivery?.state === 'queued'
  if (action === 'anew') return mayBeAnew(item)
  const needed = NEEDED[action]
  if (needed === undefined) return true
  if (action === 'approve' && item.payment?.state === 'open') return true
  // an older conversation is no witness of a state that has changed since
  const thread = view.threads.get(item.interaction_id)?.thread
  const given = thread?.state === item.state ? thread.actions : BY_STATE[item.state]
  return needed.some(name => given.includes(name))
}

/** Its recipient was restored and no longer has it, and nothing was delegated in its place yet. */
export const mayBeAnew = (item: Pick<InteractionSummary, 'side' | 'lost_by_peer_at' | 'anew_as'>): boolean =>
  item.side === 'sent' && item.lost_by_peer_at !== undefined && item.anew_as === undefined

/** Why a key does nothing now, and what to press instead. */
export function sayNot(item: InteractionSummary, action: Action): string {
  if (isQuote(item) && (action === 'verify' || action === 'rate'))
    return 'this is a price that was asked; the task that is paid has the receipt'
  if (action === 'approve') return 'nothing here waits for a yes'
  if (action === 'verify') return 'there is no receipt yet; both sides must end the task first'
  if (action === 'hold') return 'nothing of this task waits on this machine'
  if (action === 'anew') return 'only a task of yours that its recipient lost is delegated anew'
  if (action === 'rate') return 'only a task of yours with a receipt is rated'
  if (item.state === 'pending' && item.side === 'received')
    return 'it waits for your yes first; a approves it, N declines it'
  return `this task is ${sayState(item.state, item.side).word}; d delegates a new one`
}
