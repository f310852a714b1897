/** What is worth telling a person who looks elsewhere: from one view to the next. Words of others stand apart, for whoever wants them. */
import type { InteractionSummary } from '../protocol/control/shapes.ts'
import { cleanLine } from './clean.ts'
import { peerName, sayCredits } from './sentences.ts'
import type { View } from './state.ts'

export type Notice = {
  readonly id: string
  readonly side: InteractionSummary['side']
  /** Ours, without a word of the message. */
  readonly says: string
  /** Theirs. */
  readonly words: string
}

/** Nothing while the lists were not loaded before: what is found at the start is no news. */
export function noticesOf(before: View, now: View): Notice[] {
  if (before.interactions === now.interactions) return []
  const { received, sent } = before.lists
  if (!received.loaded || !sent.loaded) return []
  return [...now.interactions.values()].flatMap(item => {
    const held = before.interactions.get(item.interaction_id)
    // an older page that is read on brings what was there before
    if (held === undefined && item.last_at < newestIn(before)) return []
    const says = newsOf(held, item)
    const words = cleanLine(item.unread_preview ?? item.preview, 160)
    return says === undefined ? [] : { id: item.interaction_id, side: item.side, says, words }
  })
}

const newestIn = ({ interactions }: View): number =>
  [...interactions.values()].reduce((newest, { last_at }) => Math.max(newest, last_at), 0)

function newsOf(held: InteractionSummary | undefined, item: InteractionSummary): string | undefined {
  const peer = peerName(item)
  if (held === item) return undefined
  if (item.side === 'received' && item.state === 'pending' && held?.state !== 'pending')
    return 'a stranger asks you to take a task'
  if (item.side === 'sent' && item.payment?.state === 'open' && held?.payment?.state !== 'open')
    return `${peer} asks ${sayCredits(item.payment.amount)}; you decide`
  if (item.news?.proposes_end === true && held?.news?.proposes_end !== true)
    return `${peer} proposes to end a task`
  if (item.unread <= (held?.unread ?? 0)) return undefined
  return held === undefined && item.side === 'received' ? `${peer} gives you a task` : `${peer} wrote`
}
