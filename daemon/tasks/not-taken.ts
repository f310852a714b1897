/** Where a hub tells nothing of its letters: what the last word of the other side says of those that still lie there. */
import type { Store } from '../store/open.ts'
import { entriesAtHub } from '../store/outbox.ts'
import type { Interaction, Message, Threads } from '../store/threads.ts'

const NOT_TAKEN = 'the recipient had not taken it when the task ended'
const UNSAID = {
  declined: 'the recipient declined the task before it said whether it has this',
  cancelled: 'the requester withdrew the task before it said whether it has this',
} as const

/** Both have agreed to the end, and the other side has named what it lacks. */
export function failLacked(store: Store, threads: Threads, interaction: Interaction): void {
  const lacked = new Set(JSON.parse(interaction.peerLacks) as number[])
  for (const { key, number } of openAtHub(store, threads, interaction))
    if (lacked.has(number)) threads.setDelivery(key, 'failed', NOT_TAKEN)
}

/** The other side ended it alone, and says no more of it. */
export function leaveUnsaid(store: Store, threads: Threads, interaction: Interaction): void {
  const { state } = interaction
  if (state !== 'declined' && state !== 'cancelled') return
  for (const { key } of openAtHub(store, threads, interaction))
    threads.setDelivery(key, 'unknown', UNSAID[state])
}

const openAtHub = (store: Store, threads: Threads, { key, way }: Interaction): Message[] =>
  way === 'open' ? entriesAtHub(store, key).map(({ message }) => threads.message(message)) : []
